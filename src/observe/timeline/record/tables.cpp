#include "timeline/record/tables.hpp"

#include <algorithm>

#include "timeline/record/read_lock.hpp"

namespace heddle::detail {

StringTable::StringTable() { keep(""); }

StringTable::Kept StringTable::keep(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(text);
    if (found != index_.end()) return {found->second, texts_[found->second].c_str()};
    const auto index = static_cast<TraceIndex>(texts_.size());
    const std::string& kept = texts_.emplace_back(text);
    try {
        index_.emplace(kept, index);
    } catch (...) {
        texts_.pop_back();
        throw;
    }
    return {index, kept.c_str()};
}

std::vector<std::string> StringTable::all() const {
    const ReadLock lock(mutex_);
    return {texts_.begin(), texts_.end()};
}

TraceIndex StreamRows::keep(StreamRef stream) {
    const std::uint64_t id = stream.id();
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(id); found != index_.end()) return found->second;
    const auto index = static_cast<TraceIndex>(streams_.size());
    streams_.push_back({.id = id,
                        .device = index_of(stream.device()),
                        .priority = stream.priority(),
                        .name = strings_.keep(stream.name()).index});
    index_.emplace(id, index);
    return index;
}

TraceIndex StreamRows::keep(Device device) {
    const std::lock_guard lock(mutex_);
    return index_of(device);
}

TraceIndex StreamRows::index_of(Device device) {
    const auto found = std::ranges::find_if(devices_, [&](const TraceDevice& one) {
        return one.is_cuda == device.is_cuda() && one.index == device.index();
    });
    if (found != devices_.end()) return static_cast<TraceIndex>(found - devices_.begin());
    const DeviceInfo info = device.info();
    devices_.push_back({.is_cuda = device.is_cuda(),
                        .index = device.index(),
                        .name = strings_.keep(info.name).index,
                        .clock = device.is_cuda() ? TraceClock::none : TraceClock::workers,
                        .clock_error = 0,
                        .processors = static_cast<unsigned>(std::max(1, info.processors))});
    return static_cast<TraceIndex>(devices_.size() - 1);
}

std::vector<TraceStream> StreamRows::streams() const {
    const ReadLock lock(mutex_);
    return streams_;
}

std::vector<TraceDevice> StreamRows::devices() const {
    const ReadLock lock(mutex_);
    return devices_;
}

TraceAccess trace_access(const OpAccess& access) noexcept {
    TraceAccess made{access};
    if (made.rows <= 1) made.pitch = 0;
    return made;
}

TraceIndex GraphTable::keep(const GraphShape& shape, bool is_batch) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(shape.id); found != index_.end()) return found->second;
    TraceGraph graph{.id = shape.id, .is_batch = is_batch, .nodes = {}};
    for (const OpNode& info : shape.nodes) {
        TraceNode& node = graph.nodes.emplace_back();
        node.name = strings_.keep(info.name).index;
        node.file = strings_.keep(info.where.file).index;
        node.line = info.where.line;
        node.kind = info.kind;
        node.after.assign(info.after.begin(), info.after.end());
        node.inside = info.inside;
        node.alternative = info.alternative;
        node.first_access = static_cast<std::uint32_t>(accesses_.size());
        node.accesses = static_cast<std::uint32_t>(info.accesses.size());
        node.accesses_known = info.accesses_known;
        for (const OpAccess& access : info.accesses) accesses_.push_back(trace_access(access));
    }
    const auto index = static_cast<TraceIndex>(graphs_.size());
    graphs_.push_back(std::move(graph));
    index_.emplace(shape.id, index);
    return index;
}

void GraphTable::write(Trace& trace) const {
    const ReadLock lock(mutex_);
    const auto before = static_cast<std::uint32_t>(trace.accesses.size());
    trace.graphs = graphs_;
    for (TraceGraph& graph : trace.graphs)
        for (TraceNode& node : graph.nodes) node.first_access += before;
    trace.accesses.insert(trace.accesses.end(), accesses_.begin(), accesses_.end());
}

}  // namespace heddle::detail
