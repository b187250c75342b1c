#include "timeline/solve/device_load.hpp"

#include <algorithm>
#include <utility>

#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

FullStretches::FullStretches(std::vector<Change> changes, int at_least) {
    // Of changes at the same time, ends are sorted before begins. So a stretch that begins where
    // the previous one ends extends that one.
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return std::pair(a.at, a.by) < std::pair(b.at, b.by);
    });
    int running = 0;
    Moment length = 0;
    for (const Change& change : changes) {
        const bool was_full = running >= at_least;
        running += change.by;
        const bool is_full = running >= at_least;
        if (is_full == was_full) continue;
        if (!is_full) {
            all_.back().end = change.at;
            length += change.at - all_.back().begin;
        } else if (!all_.empty() && all_.back().end == change.at) {
            length = all_.back().before;
        } else {
            all_.push_back({change.at, change.at, length});
        }
    }
}

Moment FullStretches::full_before(Moment moment) const {
    const auto next =
        std::upper_bound(all_.begin(), all_.end(), moment,
                         [](Moment value, const Stretch& one) { return value < one.begin; });
    if (next == all_.begin()) return 0;
    const Stretch& last = *(next - 1);
    return last.before + std::min(moment, last.end) - last.begin;
}

FullStretches::Part FullStretches::within(Moment begin, Moment end) const {
    Part part{.full = full_before(end) - full_before(begin)};
    if (part.full <= 0) return part;
    const auto next =
        std::lower_bound(all_.begin(), all_.end(), end,
                         [](const Stretch& one, Moment value) { return one.begin < value; });
    part.last = std::min((next - 1)->end, end);
    return part;
}

namespace {

/// Limits a count from a trace, because a damaged trace may contain any number.
int limited(std::uint32_t count) noexcept { return static_cast<int>(std::min(count, 1u << 16)); }

enum class Resource : std::size_t { processors, copy_engines, host_threads };

Resource resource_of(const TraceDevice& device, OpKind kind) {
    if (!device.is_cuda) return Resource::processors;
    if (kind == OpKind::copy) return Resource::copy_engines;
    if (kind == OpKind::host_function) return Resource::host_threads;
    return Resource::processors;
}

/// Returns for each operation whether it is a graph launch with bars for its nodes.
std::vector<bool> find_outlines(const Trace& trace, std::span<const Bar> bars) {
    std::vector<bool> is_outline(trace.ops.size());
    for (const Bar& bar : bars)
        if (bar.run != no_index) is_outline[bar.op] = true;
    return is_outline;
}

}  // namespace

DeviceLoad::DeviceLoad(const Trace& trace, std::span<const Bar> bars)
    : trace_(trace), devices_(trace.devices.size() + 1) {
    std::vector<std::array<std::vector<FullStretches::Change>, parts>> changes(devices_.size());
    int workers = 1;
    for (const TraceDevice& device : trace.devices)
        if (!device.is_cuda) workers = std::max(workers, limited(device.processors));
    const std::vector<bool> is_outline = find_outlines(trace, bars);
    for (const Bar& bar : bars) {
        const TraceIndex index = device_of(trace, bar.stream);
        if (index == no_index || bar.end <= bar.start) continue;
        const TraceDevice& device = trace.devices[index];
        // On a CPU device, each node of a graph occupies a worker. So the nodes count, not the
        // graph.
        const bool is_node = bar.run != no_index;
        if (device.is_cuda ? is_node : is_outline[bar.op] && !is_node) continue;
        const Resource resource = resource_of(device, trace.ops[bar.op].kind);
        auto& all = changes[place_of(index)][static_cast<std::size_t>(resource)];
        const int count = device.is_cuda || is_node
                              ? 1
                              : std::clamp(limited(trace.ops[bar.op].workers), 1, workers);
        all.push_back({bar.start, count});
        all.push_back({bar.end, -count});
    }
    for (std::size_t i = 0; i < devices_.size(); ++i)
        for (std::size_t part = 0; part < parts; ++part)
            devices_[i][part] = {std::move(changes[i][part]),
                                 i + 1 == devices_.size() ? workers : 1};
}

std::size_t DeviceLoad::place_of(TraceIndex device) const {
    return trace_.devices[device].is_cuda ? device : trace_.devices.size();
}

FullStretches::Part DeviceLoad::around(TraceIndex op, Moment begin, Moment end) const {
    const TraceIndex device = device_of(trace_, trace_.ops[op].stream);
    if (device == no_index) return {};
    const Resource resource = resource_of(trace_.devices[device], trace_.ops[op].kind);
    return devices_[place_of(device)][static_cast<std::size_t>(resource)].within(begin, end);
}

}  // namespace heddle::detail
