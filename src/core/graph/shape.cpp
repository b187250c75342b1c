#include "core/graph/shape.hpp"

#include "core/base/ids.hpp"

namespace heddle::detail {

namespace {

OpKind kind_of(const NodeData& node) noexcept {
    switch (node.kind) {
    case NodeKind::kernel: return OpKind::launch;
    case NodeKind::copy: return OpKind::copy;
    case NodeKind::fill: return OpKind::fill;
    case NodeKind::host_function: return OpKind::host_function;
    case NodeKind::record_event: return OpKind::record;
    case NodeKind::wait_event: return OpKind::wait;
    case NodeKind::allocate: return OpKind::allocate;
    case NodeKind::free: return OpKind::free;
    case NodeKind::empty: return OpKind::wait_elided;
    case NodeKind::child_graph:
    case NodeKind::conditional:
    case NodeKind::other: break;
    }
    return OpKind::graph_launch;
}

/// Returns the block of the node's that holds this memory, or null.
Block* owner_of(const NodeData& node, const void* data) noexcept {
    const auto* const at = static_cast<const std::byte*>(data);
    for (Block* const block : node.work.blocks) {
        const auto* const first = static_cast<const std::byte*>(block->data);
        if (first != nullptr && at >= first && at < first + block->bytes) return block;
    }
    return nullptr;
}

OpAccess access_of(const NodeData& node, const Piece& piece, AccessMode mode) noexcept {
    Block* const owner = owner_of(node, piece.data);
    return {.data = piece.data,
            .bytes = piece.bytes,
            .allocation = allocation_of(owner),
            .owner = owner,
            .pitch = piece.pitch,
            .rows = static_cast<std::uint32_t>(piece.rows),
            .mode = mode};
}

/// Returns whether all that the node accesses can be told.
bool accesses_of(const NodeData& node, std::vector<OpAccess>& to) {
    switch (node.kind) {
    case NodeKind::copy:
        to.push_back(access_of(node, node.from, AccessMode::read));
        [[fallthrough]];
    case NodeKind::fill: to.push_back(access_of(node, node.to, AccessMode::write)); return true;
    case NodeKind::host_function:
    case NodeKind::kernel: to = node.work.accesses; return node.work.accesses_known;
    case NodeKind::empty:
    case NodeKind::record_event:
    case NodeKind::wait_event:
    case NodeKind::allocate:
    case NodeKind::free: return true;
    default: return false;
    }
}

}  // namespace

ShapeData::ShapeData(const GraphData& graph) {
    nodes_.reserve(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        describe(*graph.nodes[i], graph.dependencies[i]);
    shape_ = {next_id(), graph.uid, nodes_};
}

void ShapeData::describe(const NodeData& node, std::span<const std::uint32_t> after) {
    GraphNodeInfo& info = nodes_.emplace_back();
    info.kind = kind_of(node);
    info.name = names_.emplace_back(node.display_name()).c_str();
    info.where = node.where;
    info.after = edges_.emplace_back(after.begin(), after.end());
    std::vector<OpAccess>& accesses = accesses_.emplace_back();
    info.accesses_known = accesses_of(node, accesses);
    info.accesses = accesses;
    if (node.event != nullptr) info.event = node.event->uid;
}

const GraphShape* shape_of(GraphData& graph) noexcept {
    try {
        if (graph.uid == 0) graph.uid = next_id();
        if (graph.shape == nullptr) graph.shape = std::make_shared<const ShapeData>(graph);
        return &graph.shape->shape();
    } catch (...) {
        return nullptr;
    }
}

}  // namespace heddle::detail
