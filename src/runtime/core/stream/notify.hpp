// Describes waits, records and host waits to observers.
#pragma once

#include <optional>
#include <string>

#include <heddle/operation/observer.hpp>

#include <heddle/stream/detail/host_op.hpp>

#include "core/operation/activity.hpp"
#include "core/operation/calls.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail {

/// Returns the number of the stream's operations that have been reported to observers: the position
/// of the newest one.
inline std::uint64_t noted_on(const StreamRecord& stream) noexcept {
    return stream.noted.load(std::memory_order_acquire);
}

/// Notes for observers that the event was recorded.
inline void note_point(EventState& event, StreamRecord& stream) noexcept {
    ++event.records;
    event.noted_on = &stream;
    event.position = noted_on(stream);
}
/// Returns the event's newest record, as observers know it.
inline EventPoint point_of(const EventState& event) noexcept { return {event.uid, event.records}; }

/// Reports to observers all timed operations on CUDA devices that have ended.
void tell_ended_runs() noexcept;
/// Begins timing operations on CUDA devices with CUPTI's records; see Backend.
std::string begin_gpu_records();
void end_gpu_records() noexcept;
RecordCounts gpu_record_counts() noexcept;

/// Adds an operation of the stream to its flight recorder. Call only while the process is watched.
/// The second overload is for operations that no observer receives: it assigns the position.
void note_flight(StreamRecord& stream, std::uint64_t position, FlightNote note,
                 bool is_recorded) noexcept;
void note_flight(StreamState& stream, const FlightNote& note, bool is_recorded) noexcept;

/// Completes `op` in place and reports it. notify_on() works on a copy instead.
void complete_and_notify_on(StreamState& stream, OpInfo& op, bool is_recorded) noexcept;

/// A wait of one stream, for observers.
struct WaitNote {
    const char* name;
    StreamRecord* other = nullptr;  ///< the stream waited for, if known
    /// For events: the record waited for, and that record's position on its stream.
    const EventState* event = nullptr;
    WaitReason reason = WaitReason::user;
    bool is_elided = false;
    bool is_recorded = false;  ///< a capture or batch recorded it
};
void notify_wait(StreamRecord& waiter, const WaitNote& wait, const SourceLocation& where) noexcept;

void notify_record(StreamRecord& stream, const EventState& event, const SourceLocation& where,
                   bool is_recorded) noexcept;

/// Returns a description of a wait or query by the host. It covers work enqueued before this call.
OpInfo host_wait(const char* name, StreamRecord& stream, const SourceLocation& where) noexcept;
inline OpInfo host_wait(const char* name, const StreamUse& use,
                        const SourceLocation& where) noexcept {
    return host_wait(name, *use.stream, where);
}
OpInfo host_wait(const char* name, const EventState& event, const SourceLocation& where) noexcept;
OpInfo host_wait(const char* name, Device device, const SourceLocation& where) noexcept;
/// Report to observers that a query answered "complete". `covered`: noted_on(stream) before the
/// query.
void notify_query(StreamRecord& stream, std::uint64_t covered,
                  const SourceLocation& where) noexcept;
void notify_query(const EventState& event, const SourceLocation& where) noexcept;

/// Notes that a query answered "not yet", for observers that request reports of host waits.
void note_pending_query(StreamRecord& stream, const SourceLocation& where) noexcept;
void note_pending_query(const EventState& event, const SourceLocation& where) noexcept;

/// Reports to observers that the stream may have blocked this thread during the span's lifetime.
/// The watch sees the span while it lasts. Costs one load unless an observer requests times.
class BlockedSpan {
public:
    /// The work that the thread waited for.
    enum class For : std::uint8_t {
        /// the stream's earlier operations
        earlier,
        own,  ///< the stream's earlier operations, and the one that this call enqueues
    };
    BlockedSpan(const char* name, StreamRecord& stream, For target, WaitReason reason,
                const SourceLocation& where) noexcept
        : name_(name), stream_(stream), where_(where), target_(target), reason_(reason) {
        if (is_noted()) [[unlikely]]
            begin();
    }
    ~BlockedSpan() {
        if (begin_ns_ != 0) [[unlikely]]
            end();
    }
    BlockedSpan(const BlockedSpan&) = delete;
    BlockedSpan& operator=(const BlockedSpan&) = delete;

private:
    void begin() noexcept;
    void end() noexcept;
    const char* const name_;
    StreamRecord& stream_;
    const SourceLocation& where_;
    const For target_;
    const WaitReason reason_;
    std::int64_t begin_ns_ = 0;  ///< 0 if no observer requests it
    WaitMark mark_;
};

/// Reports to observers that a host function begins on this thread. Call within the lifetime of a
/// RunsOperation.
void notify_host_function_runs(StreamRecord& stream, const OpType& type,
                               const SourceLocation& where) noexcept;

/// Reports to observers that a host function begins on this thread. The destructor reports the
/// run's times. Work that the thread enqueues before that is attributed to the host function. Has
/// no effect if `id`, from function_id(), is 0.
class HostFunctionRun {
public:
    HostFunctionRun(std::uint64_t id, StreamRecord& stream, const OpType& type,
                    const SourceLocation& where) noexcept;
    ~HostFunctionRun();
    HostFunctionRun(const HostFunctionRun&) = delete;
    HostFunctionRun& operator=(const HostFunctionRun&) = delete;

private:
    const RunsOperation mark_;
    const std::uint64_t id_;
    std::int64_t from_ns_ = 0;
};

/// Reports the start and the end of a host wait to observers. A wait that throws has no end. The
/// watch sees the wait while the object lives. Costs one load without observers.
class HostWait {
public:
    template <class Target>
    HostWait(const char* name, Target&& target, const SourceLocation& where,
             WaitReason reason = WaitReason::user) noexcept {
        if (!is_noted()) [[likely]]
            return;
        if (has_watch()) mark(host_wait(name, target, where));
        if (!is_observed()) return;
        op_ = host_wait(name, target, where);
        op_->reason = reason;
        if constexpr (std::is_same_v<std::remove_cvref_t<Target>, StreamUse>) user_ = target.id;
        begin();
    }
    void end() noexcept;

private:
    void begin() noexcept;
    void mark(const OpInfo& op) noexcept;
    std::optional<OpInfo> op_;
    std::uint64_t user_ = 0;  ///< the stream's id, if passed as a user of memory
    WaitMark mark_;
};

}  // namespace heddle::detail
