#include "core/concurrency/data_streams.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {

void take_over(std::vector<std::uint64_t>& clock,
               const std::vector<std::uint64_t>& other) noexcept {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

/// Blocks until a CPU stream has reached a position that is older than its newest operation and has
/// no event. While the host waits, it does not run the stream's work, because it would also run the
/// work after that position.
void block_until_reached(StreamRecord& stream, std::uint64_t position) {
    constexpr int spins = 200, yields = 400;
    constexpr std::int64_t pause_ns = 20'000;
    for (int i = 0; stream.backend->reached(stream) < position; ++i) {
        if (i < spins) continue;
        if (i < yields) std::this_thread::yield();
        else decision_pause(pause_ns);
    }
}

}  // namespace

DataStream::Point* DataStream::record_behind(std::uint64_t position) noexcept {
    const auto found = std::ranges::lower_bound(points_, position, {}, &Point::position);
    return found != points_.end() ? &*found : nullptr;
}

DataStream::Point& DataStream::record(const SourceLocation& where) {
    if (!points_.empty() && points_.back().position == newest) return points_.back();
    if (points_.size() < most_points) {
        points_.push_back({0, Event(stream->device, {}, where), std::vector<std::uint64_t>(clock)});
    } else {
        points_.push_back(std::move(points_.front()));
        points_.pop_front();
    }
    Point& point = points_.back();
    try {
        record_event(Access::state(point.event), *stream, where);
    } catch (...) {
        points_.pop_back();
        throw;
    }
    point.position = newest;
    point.clock = clock;
    return point;
}

// Reading a GPU stream's progress is expensive, so no call counts as short on CUDA devices.
DataStreams::DataStreams(Device device, std::size_t work, const DataOrderOptions& options,
                         const SourceLocation& where)
    : work_(work),
      waits_(options.waits == DataWaits::automatic && device.is_cuda() ? DataWaits::exact
                                                                       : options.waits),
      finds_short_(device.is_cpu() && work > 1 && options.spread == DataSpread::automatic) {
    const std::size_t copying = device.is_cuda() ? 3 : 0;
    streams_.reserve(work + copying);
    try {
        for (std::size_t i = 0; i < work + copying; ++i) {
            DataStream& data_stream = streams_.emplace_back(work + copying);
            data_stream.stream = &open_stream(device, 0, i < work ? "by data" : "copies by data",
                                              where, Naming::with_id);
            // If this stream fails, the stream that it is joined into reports the failure.
            data_stream.stream->set(stream_flag::internal);
        }
    } catch (...) {
        close_all();
        throw;
    }
}

DataStreams::~DataStreams() { close_all(); }

void DataStreams::close_all() noexcept {
    for (const DataStream& data_stream : streams_)
        if (data_stream.stream != nullptr) close_stream(*data_stream.stream);
}

const DataStream* DataStreams::find(std::uint64_t key) const noexcept {
    for (const DataStream& data_stream : streams_)
        if (data_stream.stream->key.load(std::memory_order_relaxed) == key) return &data_stream;
    return nullptr;
}

bool DataStreams::has_reached(std::size_t number, std::uint64_t position) noexcept {
    DataStream& asked = streams_[number];
    if (is_observed()) return false;
    asked.reached = std::max(asked.reached, asked.stream->backend->reached(*asked.stream));
    return asked.reached >= position;
}

// A record costs about as much as a short operation. If operations are long, the records do not
// delay them, and exact waits are worth the cost. The duration is measured while many operations
// are pending. Waits and other programs may delay the worker, so a short measured time is better
// evidence than a long one.
void DataStreams::look(std::size_t number) noexcept {
    constexpr std::uint64_t few = 8;
    constexpr std::int64_t long_ns = 700;
    DataStream& asked = streams_[number];
    asked.looked_at = asked.newest;
    asked.reached = std::max(asked.reached, asked.stream->backend->reached(*asked.stream));
    const std::int64_t now = decision_ns(), ns = now - asked.timed_from;
    const std::uint64_t done = asked.reached - asked.counted_from;
    const bool has_many = asked.newest >= asked.reached + few;
    if (asked.timed_from != 0 && done >= few)
        asked.each_ns =
            std::min(asked.each_ns + asked.each_ns / 4, ns / static_cast<std::int64_t>(done));
    asked.is_slow = asked.each_ns > long_ns;
    if (asked.timed_from != 0 && has_many && done < few) return;
    asked.counted_from = asked.reached;
    asked.timed_from = has_many ? now : 0;
}

void DataStreams::judge(DataStream& data_stream, ShortCalls& calls) noexcept {
    Backend& backend = *data_stream.stream->backend;
    const std::int64_t now = decision_ns();
    data_stream.reached = std::max(data_stream.reached, backend.reached(*data_stream.stream));
    data_stream.before.judge(calls, data_stream.reached, now);
    data_stream.filling.end(backend.position(*data_stream.stream));
    std::swap(data_stream.before, data_stream.filling);
    data_stream.filling.start(now);
}

bool DataStreams::wait(std::size_t number, std::size_t other, std::uint64_t position,
                       const SourceLocation& where) {
    DataStream& waiter = streams_[number];
    DataStream& awaited = streams_[other];
    DataStream::Point* point = awaited.record_behind(position);
    if (point == nullptr && waits_ != DataWaits::exact) {
        order_after_stream(*waiter.stream, *awaited.stream, where, WaitReason::data);
        take_over(waiter.clock, awaited.clock);
        waiter.clock[other] = awaited.newest;
        return true;
    }
    const bool records = point == nullptr;
    if (records) point = &awaited.record(where);
    order_after_event(*waiter.stream, Access::state(point->event), where, WaitReason::data);
    take_over(waiter.clock, point->clock);
    waiter.clock[other] = std::max(waiter.clock[other], point->position);
    return records;
}

void DataStreams::wait_on_host(std::size_t number, std::uint64_t position, const char* call,
                               const SourceLocation& where) {
    if (has_watch()) ThreadActivity::name_call(call, where);
    DataStream& awaited = streams_[number];
    StreamRecord& stream = *awaited.stream;
    Backend& backend = *stream.backend;
    if (position < awaited.newest) {  // otherwise, waits for the whole stream
        if (DataStream::Point* const point = awaited.record_behind(position))
            return point->event.synchronize(where);
        if (position <= backend.position(stream)) {
            if (backend.reached(stream) < position) {
                check_may_wait(call, where);
                HostWait wait(call, stream, where);
                block_until_reached(stream, position);
                wait.end();
            } else if (is_observed()) {
                HostWait wait(call, stream, where);
                wait.end();
            }
            return throw_known_failure(stream);
        }
    }
    Access::stream(stream).synchronize(where);
}

std::uint64_t DataStreams::advance(std::size_t number) noexcept {
    DataStream& to = streams_[number];
    to.newest = std::max(to.newest + 1, to.stream->backend->position(*to.stream));
    return to.newest;
}

}  // namespace heddle::detail
