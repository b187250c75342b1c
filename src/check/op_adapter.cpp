#include "check/op_adapter.hpp"

#include <atomic>

namespace heddle::detail {

namespace {

/// Returns a number that no other thread of the process has had.
std::uint32_t number_of_this_thread() noexcept {
    static constinit std::atomic<std::uint32_t> count{0};
    static constinit thread_local std::uint32_t number = 0;
    if (number == 0) number = count.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

std::uint32_t number_of(Device device) noexcept {
    return static_cast<std::uint32_t>(device.index() * 2 + (device.is_cuda() ? 1 : 0));
}

CheckAccess access_of(const OpAccess& access) {
    return {.data = reinterpret_cast<std::uintptr_t>(access.data),
            .bytes = access.bytes,
            .pitch = access.pitch,
            .allocation = access.allocation,
            .rows = access.rows,
            .element = access.element,
            .mode = access.mode,
            .argument = access.argument};
}

std::vector<CheckAccess> accesses_of(std::span<const OpAccess> from) {
    std::vector<CheckAccess> accesses;
    accesses.reserve(from.size());
    for (const OpAccess& one : from) accesses.push_back(access_of(one));
    return accesses;
}

}  // namespace

std::shared_ptr<const CheckShape> OpAdapter::shape_of(const GraphShape& shape) {
    constexpr std::size_t most = 256;
    if (const auto known = shapes_.find(shape.id); known != shapes_.end()) return known->second;
    auto made = std::make_shared<CheckShape>();
    made->id = shape.id;
    made->nodes.reserve(shape.nodes.size());
    for (const GraphNodeInfo& node : shape.nodes)
        made->nodes.push_back({.kind = node.kind,
                               .site = sites_.intern(node.kind, node.name, node.where),
                               .after = {node.after.begin(), node.after.end()},
                               .accesses = accesses_of(node.accesses),
                               .accesses_known = node.accesses_known,
                               .event = node.event});
    if (shapes_.size() == most) shapes_.clear();
    shapes_[shape.id] = made;
    return made;
}

CheckOp OpAdapter::convert(const OpInfo& info) {
    CheckOp op;
    op.kind = info.kind;
    op.mode = info.mode;
    op.reason = info.reason;
    op.may_signal = info.kind == OpKind::host_function;
    op.site = sites_.intern(info.kind, info.name, info.where);
    op.thread = number_of_this_thread();
    op.device = number_of(info.device);
    op.id = info.id;
    if (info.stream) op.stream = info.stream.id();
    op.position = info.position;
    if (info.other) op.other = info.other.id();
    op.other_position = info.other_position;
    op.event = info.event;
    op.recording = info.recording;
    op.parent = info.parent;
    if (info.shape != nullptr) {
        op.graph = info.shape->graph;
        op.shape = shape_of(*info.shape);
    }
    op.collective = info.collective;
    op.share = info.share;
    op.shares = info.shares;
    op.accesses = accesses_of(info.accesses);
    return op;
}

}  // namespace heddle::detail
