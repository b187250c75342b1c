#include "core/graph/shape.hpp"

#include "core/base/ids.hpp"
#include "core/launch/found_views.hpp"
#include "core/operation/host_access.hpp"

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

/// Returns the block of the node that contains this memory, or null if there is none.
Block* owner_of(const NodeData& node, const void* data) noexcept {
    const auto* const at = static_cast<const std::byte*>(data);
    for (Block* const block : node.work.blocks) {
        const auto* const first = static_cast<const std::byte*>(block->data);
        if (first != nullptr && at >= first && at < first + block->bytes) return block;
    }
    return nullptr;
}

OpAccess access_of(const NodeData& node, const Operand& operand, AccessMode mode) noexcept {
    return access_of(operand, owner_of(node, operand.data), mode);
}

/// Returns the access by which a conditional node reads its value.
OpAccess value_access(const Conditional& conditional) noexcept {
    const Operand& value = conditional.value;
    return access_of(value, value.owner, AccessMode::read, sizeof(int));
}

/// Appends an access to the whole of each array, because the actual uses are unknown.
void add_all_of(std::span<Block* const> blocks, std::vector<OpAccess>& to) {
    for (Block* const block : blocks)
        to.push_back(access_of({block->data, block->bytes}, block, AccessMode::read_write));
}

/// Appends the node's accesses. Returns whether all of them are known. The accesses of a body are
/// those of its own nodes, so they are not included.
bool accesses_of(const NodeData& node, std::vector<OpAccess>& to) {
    if (!node.enabled || node.has_no_work()) return true;
    switch (node.kind) {
    case NodeKind::copy:
        to.push_back(access_of(node, node.from, AccessMode::read));
        [[fallthrough]];
    case NodeKind::fill: to.push_back(access_of(node, node.to, AccessMode::write)); return true;
    case NodeKind::host_function:
    case NodeKind::kernel:
    case NodeKind::other:
        if (node.work.accesses_known) to = node.work.accesses;
        else add_all_of(node.work.blocks, to);
        return node.work.accesses_known;
    case NodeKind::empty:
    case NodeKind::record_event:
    case NodeKind::wait_event:
    case NodeKind::allocate:
    case NodeKind::free: return true;
    // If `child` is set, the nodes of the child graph are not in this graph, so their accesses are
    // missing.
    case NodeKind::child_graph: return node.child == nullptr;
    case NodeKind::conditional: to.push_back(value_access(*node.conditional)); return true;
    }
    return false;
}

}  // namespace

std::uint32_t told_nodes(const NodeData& node) noexcept {
    std::uint32_t count = 1;
    if (node.conditional != nullptr)
        for (const auto& body : node.conditional->bodies)
            for (const auto& inner : body->nodes) count += told_nodes(*inner);
    return count;
}

ShapeData::ShapeData(const GraphData& graph) {
    nodes_.reserve(graph.nodes.size());
    describe(graph, OpNode::no_node, 0);
    shape_ = {next_id(), graph.uid, nodes_};
}

void ShapeData::describe(const GraphData& graph, std::uint32_t inside, std::uint32_t alternative) {
    std::vector<std::uint32_t> told_as;  // by node: its index in this shape
    std::vector<std::uint32_t> in_child;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const NodeData& node = *graph.nodes[i];
        const auto index = static_cast<std::uint32_t>(nodes_.size());
        told_as.push_back(index);
        if (node.child_node != nullptr) in_child.push_back(static_cast<std::uint32_t>(i));
        std::vector<std::uint32_t>& after = edges_.emplace_back();
        for (const std::uint32_t first : graph.dependencies[i]) after.push_back(told_as[first]);
        describe(node, after);
        nodes_.back().inside = inside;
        nodes_.back().alternative = alternative;
        if (node.conditional == nullptr) continue;
        const auto& bodies = node.conditional->bodies;
        for (std::uint32_t body = 0; body < bodies.size(); ++body)
            describe(*bodies[body], index, body);
    }
    for (const std::uint32_t i : in_child)
        nodes_[told_as[i]].child = told_as[graph.nodes[i]->child_node->index];
}

void ShapeData::describe(const NodeData& node, std::span<const std::uint32_t> after) {
    OpNode& info = nodes_.emplace_back();
    info.kind = kind_of(node);
    info.name = names_.emplace_back(node.display_name()).c_str();
    info.where = node.where;
    info.captured_on = streams_.emplace_back(node.captured_on).c_str();
    info.after = after;
    if (node.enabled && node.work.type != nullptr)
        info.may_signal = may_signal(
            *node.work.type, undeclared_in(*node.work.type, node.work.closure.get()), node.device);
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
