// Conditional nodes: how they are made and checked.
#include <heddle/graph/conditional_nodes.hpp>

#include "core/graph/graph.hpp"
#include "core/memory/copy.hpp"

namespace heddle::detail {

namespace {

[[noreturn]] void refuse(const NodeData& node, const std::string& what,
                         const SourceLocation& where) {
    throw_error({.code = ErrorCode::usage,
                 .message = label_of(node) + " " + what,
                 .call = "build",
                 .device = node.device,
                 .where = where});
}

bool fits(Device of_node, Device other) {
    return of_node == other || (of_node.is_cpu() && other.is_cpu());
}

void check_value(const NodeData& node, const SourceLocation& where) {
    const Conditional& conditional = *node.conditional;
    const Region& value = conditional.value;
    if (value.bytes != sizeof(int))
        refuse(node,
               "needs a value of one int, and has one of " +
                   std::to_string(value.bytes / sizeof(int)) + ": take first(1)",
               where);
    if (value.owner != nullptr && !value.owner->alive.load(std::memory_order_relaxed))
        refuse(node, "has a value whose array is gone", where);
    if (conditional.place.kind == MemoryKind::pageable)
        refuse(
            node,
            "has a value in pageable memory, which graphs cannot use: use an array of the device, "
            "or pinned()",
            where);
}

/// Refuses a body on another device, since bodies run as part of the graph. Refuses events in it:
/// every pass would record them again.
void check_body(const NodeData& node, const GraphData& body, const SourceLocation& where) {
    if (!fits(node.device, body.device))
        refuse(node,
               "is on " + node.device.name() + ", and has a body on " + body.device.name() +
                   ": both have to be on one device",
               where);
    for (const auto& inner : body.nodes)
        if (inner->event != nullptr)
            refuse(node,
                   "has a body with " + label_of(*inner) +
                       ": events stay outside of bodies, before or after the conditional",
                   where);
}

}  // namespace

std::shared_ptr<NodeData> make_conditional(ConditionalKind kind, const Region& value,
                                           std::vector<std::unique_ptr<GraphData>> bodies,
                                           const SourceLocation& where) {
    auto conditional = std::make_shared<Conditional>();
    conditional->kind = kind;
    conditional->value = value;
    conditional->place = place_of(value);
    Device device = conditional->place.device;
    if (conditional->place.kind == MemoryKind::pinned)
        for (const auto& body : bodies)
            if (body != nullptr) {
                device = body->device;
                break;
            }
    for (auto& body : bodies) conditional->bodies.push_back(std::move(body));
    auto node = new_node(NodeKind::conditional, device, where);
    node->conditional = std::move(conditional);
    if (value.owner != nullptr) node->work.blocks.push_back(value.owner);
    note_serials(node->work);
    return node;
}

std::shared_ptr<const Conditional> clone_conditional(const Conditional& conditional) {
    auto clone = std::make_shared<Conditional>(conditional);
    for (auto& body : clone->bodies)
        if (body != nullptr) body = clone_graph(*body);
    return clone;
}

void check_conditional(const NodeData& node, Device device, const SourceLocation& where) {
    if (!fits(device, node.device))
        refuse(node, "is on " + node.device.name() + ", and its graph on " + device.name(), where);
    check_value(node, where);
    const auto& bodies = node.conditional->bodies;
    if (bodies.empty()) refuse(node, "has no bodies", where);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        if (bodies[i] == nullptr || bodies[i]->nodes.empty())
            refuse(node,
                   "has an empty body (" + std::to_string(i) +
                       "): give it a graph of an empty_node()",
                   where);
        check_body(node, *bodies[i], where);
    }
}

std::shared_ptr<NodeData> new_conditional(
    ConditionalKind kind, View<const int> value,
    std::span<const std::reference_wrapper<const Graph>> graphs, const SourceLocation& where) try {
    std::vector<std::unique_ptr<GraphData>> bodies;
    for (const Graph& graph : graphs)
        bodies.push_back(graph ? clone_graph(Access::data(graph, where)) : nullptr);
    return make_conditional(kind, region(value), std::move(bodies), where);
} catch (...) {
    detail::rethrow_as_error("conditional node", where);
}

}  // namespace heddle::detail
