// The streams of a DataOrder, and the positions that each of them is ordered after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/concurrency/short_calls.hpp"
#include "core/seam/backend.hpp"
#include <heddle/concurrency/data_order.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/event.hpp>

namespace heddle::detail {

/// One stream of a DataOrder. Its number is its index in DataStreams. A position is an operation's
/// number on the stream; dropped operations count as well. Positions grow, and may skip numbers.
class DataStream {
public:
    explicit DataStream(std::size_t streams) : clock(streams) {}
    DataStream(DataStream&&) noexcept = default;
    DataStream& operator=(DataStream&&) noexcept = default;
    ~DataStream() = default;

    StreamRecord* stream = nullptr;  ///< null if it could not be opened
    std::uint64_t newest = 0;        ///< position of the newest operation
    std::uint64_t newest_task = 0;   ///< position of the newest task
    std::uint64_t newest_maker = 0;  ///< position of the newest task that may have made an array
    std::uint64_t load = 0;          ///< the stream's work, relative to the other streams
    std::uint64_t reached = 0;       ///< a position that the stream is known to have reached
    std::uint64_t looked_at = 0;     ///< value of `newest` at the last look()
    bool is_slow = true;             ///< whether its operations are known or assumed to be long
    std::int64_t each_ns = std::int64_t{1} << 40;  ///< estimated time of one operation
    std::uint64_t counted_from = 0;                ///< start of the measurement: a position
    std::int64_t timed_from = 0;                   ///< start of the measurement: a time in ns
    /// For each stream: the position that this stream is ordered after.
    std::vector<std::uint64_t> clock;
    bool ends_short = true;      ///< whether its newest operation is short
    CallWindow filling, before;  ///< its newest calls, and the calls before them

    // The next members are for exact waits.

    /// An event that was recorded at a position. record_behind() returns the oldest Point at or
    /// after a position, or null.
    struct Point {
        std::uint64_t position;
        Event event;
        std::vector<std::uint64_t> clock;  ///< the stream's clock at this position
    };
    Point* record_behind(std::uint64_t position) noexcept;
    /// Records an event after the newest operation. Replaces the oldest Point if there are many.
    Point& record(const SourceLocation& where);
    /// Removes all Points. All of the stream's work must have completed.
    void forget_points() noexcept {
        points_.clear();
        reached = newest;
    }

private:
    static constexpr std::size_t most_points = 64;
    std::deque<Point> points_;  ///< oldest first
};

/// All streams of one DataOrder. Not thread-safe.
class DataStreams {
public:
    /// Opens `work` streams and, on CUDA devices, the streams for copies.
    DataStreams(Device device, std::size_t work, const DataOrderOptions& options,
                const SourceLocation& where);
    ~DataStreams();
    DataStreams(const DataStreams&) = delete;
    DataStreams& operator=(const DataStreams&) = delete;

    /// Returns the number of streams.
    std::size_t count() const noexcept { return streams_.size(); }
    /// Returns the number of streams that are not reserved for copies.
    std::size_t work() const noexcept { return work_; }
    DataStream& operator[](std::size_t i) noexcept { return streams_[i]; }
    const DataStream& operator[](std::size_t i) const noexcept { return streams_[i]; }
    /// Returns whether an event is recorded after each operation that another stream may have to
    /// wait for, even if such a wait is unlikely.
    bool records_all() const noexcept { return waits_ == DataWaits::exact; }
    /// Returns whether operations of this stream need a record: an event recorded after the newest
    /// operation, before another one is enqueued. The caller skips the record if no other stream
    /// can have to wait for the operation.
    bool records(std::size_t number) noexcept {
        if (waits_ != DataWaits::automatic) return waits_ == DataWaits::exact;
        if (streams_[number].newest - streams_[number].looked_at >= look_after) look(number);
        return streams_[number].is_slow;
    }
    /// Returns the stream for copies from the host.
    std::size_t to_device() const noexcept { return count() > work_ ? work_ : 0; }
    /// Returns the stream for copies to the host.
    std::size_t to_host() const noexcept { return count() > work_ ? work_ + 1 : 0; }
    /// Returns the stream for copies that the host waits for.
    std::size_t to_read() const noexcept { return count() > work_ ? work_ + 2 : 0; }

    /// Returns the number of a stream.
    std::uint32_t index_of(const DataStream& data_stream) const noexcept {
        return static_cast<std::uint32_t>(&data_stream - streams_.data());
    }
    /// Returns the stream with this key, or null.
    const DataStream* find(std::uint64_t key) const noexcept;
    /// Returns whether work on a stream is already ordered after a position in another one.
    bool is_after(std::size_t number, std::size_t other, std::uint64_t position) const noexcept {
        return streams_[number].clock[other] >= position ||
               (streams_[other].reached >= position && !is_observed());
    }
    /// Returns whether a position has been reached already, so that no stream has to wait for it.
    /// Returns false while there are observers, because such an order is not reported to them.
    bool has_reached(std::size_t number, std::uint64_t position) noexcept;
    /// Orders a stream after a position of another one. Returns whether it had to record an event
    /// for this.
    bool wait(std::size_t number, std::size_t other, std::uint64_t position,
              const SourceLocation& where);
    /// Blocks until a position is reached. Throws the stream's failure, if it has one.
    void wait_on_host(std::size_t number, std::uint64_t position, const char* call,
                      const SourceLocation& where);
    /// Returns the position of an operation that was just enqueued on a stream, or that the stream
    /// dropped.
    std::uint64_t advance(std::size_t number) noexcept;
    /// Removes all Points, so that later work does not wait for them. Called by clear_error(). All
    /// work must have completed.
    void forget_points() noexcept {
        for (DataStream& data_stream : streams_) data_stream.forget_points();
    }
    /// Adds the call of the newest operation to the calls that are checked for being short.
    void note_call(std::size_t number, ShortCalls& calls, ShortCalls::Index call) noexcept {
        if (!finds_short_) return;
        DataStream& to = streams_[number];
        to.ends_short = calls.is_short(call);
        if (to.filling.add(call, to.ends_short)) judge(to, calls);
    }

private:
    void close_all() noexcept;
    static void judge(DataStream& data_stream, ShortCalls& calls) noexcept;

    std::vector<DataStream> streams_;
    std::size_t work_;
    DataWaits waits_;
    bool finds_short_;  ///< whether to detect short calls; needs readable progress

    // look() reads a cache line that is written by the thread running the stream's work. Each read
    // slows that thread.
    static constexpr std::uint64_t look_after = 16;
    void look(std::size_t number) noexcept;
};

/// Returns whether the stream is known to have failed. Its work is then dropped, and streams that
/// wait for it inherit the failure.
inline bool has_failed(StreamRecord& stream) {
    return stream.has(stream_flag::poisoned | stream_flag::fallible) &&
           stream.known_failure() != nullptr;
}

}  // namespace heddle::detail
