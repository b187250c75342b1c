#include "timeline/record/device_times.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "timeline/clock/clocks.hpp"

namespace heddle::detail {

namespace {

/// The error of the measured times themselves. Events have "a resolution of around 0.5
/// microseconds" (CUDA runtime API, cudaEventElapsedTime). CUPTI converts each device's times to
/// its own clock by straight lines (CUPTI, cuptiActivityRegisterTimestampCallback). Since the error
/// of that conversion is not documented, the same value is assumed.
constexpr std::int64_t resolution_ns = 500;

struct FoundRun {
    TraceIndex op;
    std::int64_t node, start, end;
    DeviceClock clock;
};

/// For each run of one stream: its position, and the latest end of all runs up to that position.
using StreamRuns = std::vector<std::pair<std::uint64_t, std::int64_t>>;

bool is_known(std::int64_t moment) noexcept { return moment != unknown_moment; }

class DeviceTimesGiver {
public:
    DeviceTimesGiver(Trace& trace, TraceIndex device) : trace_(trace), device_(device) {}

    void add(const DeviceReading& one) {
        clock(one.clock).map.add_bracket(one.before, one.shown, one.after);
    }
    void add(const FoundRun& run) {
        const TraceOp& op = trace_.ops[run.op];
        OneClock& by = clock(run.clock);
        // For a graph, only the run of node 0 adds this bound, as no node begins before it.
        if (is_known(op.call_begin) && run.node <= 0)
            by.map.not_before(is_known(run.start) ? run.start : run.end, op.call_begin);
        by.runs.push_back(run);
    }
    void give() {
        for (const DeviceClock one : {DeviceClock::events, DeviceClock::cupti}) give(one);
    }

private:
    /// One clock of the device, with the runs whose times it measured.
    struct OneClock {
        ClockMap map{resolution_ns};
        std::vector<FoundRun> runs;
    };
    OneClock& clock(DeviceClock which) { return clocks_[static_cast<std::size_t>(which)]; }

    void give(DeviceClock which) {
        OneClock& by = clock(which);
        if (by.runs.empty()) return;
        add_host_waits(by);
        by.map.solve();
        for (const FoundRun& run : by.runs) give(run, by.map);
        TraceDevice& device = trace_.devices[device_];
        device.clock = which == DeviceClock::cupti ? TraceClock::cupti : TraceClock::events;
        device.clock_error = std::max(device.clock_error, by.map.largest_error());
    }
    void give(const FoundRun& run, const ClockMap& map) {
        TraceOp& op = trace_.ops[run.op];
        const Moment end = map.at(run.end).host;
        const Moment start = is_known(run.start) ? map.at(run.start).host : unknown_moment;
        if (has_node(op, run.node)) {
            if (is_known(start))
                trace_.node_runs.push_back(
                    {op.id, static_cast<std::uint32_t>(run.node), start, end});
            return;
        }
        if (is_known(start)) op.start = is_known(op.start) ? std::min(op.start, start) : start;
        // Correct even if op.end is unknown: unknown_moment is less than any known moment.
        op.end = std::max(op.end, end);
    }

    bool has_node(const TraceOp& op, std::int64_t node) const {
        return node >= 0 && op.graph < trace_.graphs.size() &&
               static_cast<std::size_t>(node) < trace_.graphs[op.graph].nodes.size();
    }

    /// Adds bounds from host waits. Work covered by a wait had completed when the wait returned.
    void add_host_waits(OneClock& by) {
        std::map<TraceIndex, StreamRuns> streams;
        for (const FoundRun& run : by.runs) {
            const TraceOp& op = trace_.ops[run.op];
            streams[op.stream].emplace_back(op.position, run.end);
        }
        for (auto& [stream, all] : streams) {
            std::ranges::sort(all);
            for (std::size_t i = 1; i < all.size(); ++i)
                all[i].second = std::max(all[i].second, all[i - 1].second);
        }
        for (const TraceOp& op : trace_.ops) {
            if (op.kind != OpKind::synchronize || !is_known(op.call_end)) continue;
            const auto stream = streams.find(op.other);
            if (stream == streams.end()) continue;
            const auto behind = std::ranges::upper_bound(stream->second, op.other_position, {},
                                                         &StreamRuns::value_type::first);
            if (behind != stream->second.begin())
                by.map.not_after(std::prev(behind)->second, op.call_end);
        }
    }

    Trace& trace_;
    const TraceIndex device_;
    OneClock clocks_[2];
};

}  // namespace

void sort_node_runs(Trace& trace) {
    std::ranges::sort(trace.node_runs, [](const TraceNodeRun& a, const TraceNodeRun& b) {
        return std::pair(a.launch, a.start) < std::pair(b.launch, b.start);
    });
}

void give_device_times(Trace& trace, std::span<const DeviceRun> runs,
                       std::span<const DeviceReading> readings) {
    if (runs.empty()) return;
    std::map<int, DeviceTimesGiver> devices;
    for (std::size_t i = 0; i < trace.devices.size(); ++i)
        if (trace.devices[i].is_cuda)
            devices.try_emplace(trace.devices[i].index, trace, static_cast<TraceIndex>(i));
    for (const DeviceReading& one : readings)
        for (auto& [index, device] : devices)
            if (one.device < 0 || one.device == index) device.add(one);
    std::vector<std::pair<std::uint64_t, TraceIndex>> by_id;
    by_id.reserve(trace.ops.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        by_id.emplace_back(trace.ops[i].id, static_cast<TraceIndex>(i));
    std::ranges::sort(by_id);
    for (const DeviceRun& run : runs) {
        const auto op =
            std::ranges::lower_bound(by_id, run.id, {}, &decltype(by_id)::value_type::first);
        if (op == by_id.end() || op->first != run.id) continue;
        auto device = devices.find(run.device);
        const TraceIndex own = trace.ops[op->second].device;
        // A node of a graph may run on a device that has no streams.
        if (device == devices.end() && run.node >= 0 && own != no_index)
            device = devices.find(trace.devices[own].index);
        if (device == devices.end()) continue;
        device->second.add(FoundRun{op->second, run.node, run.start, run.end, run.clock});
    }
    for (auto& [index, device] : devices) device.give();
    sort_node_runs(trace);
}

}  // namespace heddle::detail
