#include "timeline/record/device_times.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "timeline/clock/clocks.hpp"

namespace heddle::detail {

namespace {

/// Source: CUDA runtime API, cudaEventElapsedTime: "a resolution of around 0.5 microseconds".
constexpr std::int64_t resolution_ns = 500;

struct FoundRun {
    TraceIndex op;
    std::int64_t start, end;
};

/// The runs of one stream: positions, and the latest end up to each.
using StreamRuns = std::vector<std::pair<std::uint64_t, std::int64_t>>;

class DeviceTimesGiver {
public:
    DeviceTimesGiver(Trace& trace, TraceIndex device) : trace_(trace), device_(device) {}

    void add(const DeviceReading& one) { map_.add_bracket(one.before, one.shown, one.after); }
    void add(const FoundRun& run) {
        const TraceOp& op = trace_.ops[run.op];
        const bool has_start = run.start != unknown_moment;
        if (op.call_begin != unknown_moment)
            map_.not_before(has_start ? run.start : run.end, op.call_begin);
        runs_.push_back(run);
    }
    void give() {
        if (runs_.empty()) return;
        add_host_waits();
        map_.solve();
        for (const FoundRun& run : runs_) {
            TraceOp& op = trace_.ops[run.op];
            op.end = map_.at(run.end).host;
            if (run.start != unknown_moment) op.start = map_.at(run.start).host;
        }
        TraceDevice& device = trace_.devices[device_];
        device.clock = TraceClock::events;
        device.clock_error = map_.largest_error();
    }

private:
    /// When the host had waited for a stream, what the wait covers had ended.
    void add_host_waits() {
        std::map<TraceIndex, StreamRuns> streams;
        for (const FoundRun& run : runs_) {
            const TraceOp& op = trace_.ops[run.op];
            streams[op.stream].emplace_back(op.position, run.end);
        }
        for (auto& [stream, all] : streams) {
            std::ranges::sort(all);
            for (std::size_t i = 1; i < all.size(); ++i)
                all[i].second = std::max(all[i].second, all[i - 1].second);
        }
        for (const TraceOp& op : trace_.ops) {
            if (op.kind != OpKind::synchronize || op.call_end == unknown_moment) continue;
            const auto stream = streams.find(op.other);
            if (stream == streams.end()) continue;
            const auto behind = std::ranges::upper_bound(stream->second, op.other_position, {},
                                                         &StreamRuns::value_type::first);
            if (behind != stream->second.begin())
                map_.not_after(std::prev(behind)->second, op.call_end);
        }
    }

    Trace& trace_;
    const TraceIndex device_;
    ClockMap map_{resolution_ns};
    std::vector<FoundRun> runs_;
};

}  // namespace

void give_device_times(Trace& trace, std::span<const DeviceRun> runs,
                       std::span<const DeviceReading> readings) {
    if (runs.empty()) return;
    std::map<int, DeviceTimesGiver> devices;
    for (std::size_t i = 0; i < trace.devices.size(); ++i)
        if (trace.devices[i].is_cuda)
            devices.try_emplace(trace.devices[i].index, trace, static_cast<TraceIndex>(i));
    for (const DeviceReading& one : readings)
        if (const auto device = devices.find(one.device); device != devices.end())
            device->second.add(one);
    std::vector<std::pair<std::uint64_t, TraceIndex>> by_id;
    by_id.reserve(trace.ops.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        by_id.emplace_back(trace.ops[i].id, static_cast<TraceIndex>(i));
    std::ranges::sort(by_id);
    for (const DeviceRun& run : runs) {
        const auto device = devices.find(run.device);
        const auto op =
            std::ranges::lower_bound(by_id, run.id, {}, &decltype(by_id)::value_type::first);
        if (device == devices.end() || op == by_id.end() || op->first != run.id) continue;
        device->second.add(FoundRun{op->second, run.start, run.end});
    }
    for (auto& [index, device] : devices) device.give();
}

}  // namespace heddle::detail
