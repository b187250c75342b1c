// Conditional nodes: how they are made and checked.
#include <heddle/graph/conditional_nodes.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/errors.hpp"
#include "core/graph/build.hpp"
#include "core/graph/conditional_nodes.hpp"
#include "core/graph/memory_use.hpp"
#include "core/memory/copy.hpp"

namespace heddle::detail {

void throw_not_one_int(const ErrorSite& site, std::string_view who, std::size_t count) {
    usage_error(site, "{} needs a view of one int, but the view has {} elements: pass first(1)",
                who, count);
}

namespace {

/// Returns the site for an error of build() about this node. The message should begin with
/// label_of(node).
ErrorSite site_of(const NodeData& node, const SourceLocation& where) {
    return {"build", where, node.device};
}

bool fits(Device of_node, Device other) {
    return of_node == other || (of_node.is_cpu() && other.is_cpu());
}

void check_value(const NodeData& node, const SourceLocation& where) {
    const Conditional& conditional = *node.conditional;
    const Operand& value = conditional.value;
    if (value.bytes != sizeof(int))
        throw_not_one_int(site_of(node, where), label_of(node), value.bytes / sizeof(int));
    if (value.owner != nullptr && !value.owner->alive.load(std::memory_order_relaxed))
        usage_error(site_of(node, where),
                    "{} has a value whose array was destroyed: keep the array at least as long as "
                    "the graph",
                    label_of(node));
    if (value.space.kind == MemoryKind::pageable)
        usage_error(site_of(node, where),
                    "{} has a value in pageable memory, which graphs cannot use: use an array of "
                    "the device, or pinned()",
                    label_of(node));
}

/// Throws if a body is on another device, because bodies run as part of the graph. Also throws if a
/// body contains events, because every iteration would record them again.
void check_body(const NodeData& node, const GraphData& body, const SourceLocation& where) {
    if (!fits(node.device, body.device))
        usage_error(site_of(node, where),
                    "{} is on {}, but its body is on {}: use one device for both", label_of(node),
                    node.device, body.device);
    for (const auto& inner : body.nodes)
        if (inner->event != nullptr)
            usage_error(site_of(node, where),
                        "{} has a body with {}, but a body cannot contain event nodes: place them "
                        "before or after the conditional node",
                        label_of(node), label_of(*inner));
}

}  // namespace

std::shared_ptr<NodeData> make_conditional(ConditionalKind kind, const Region& region,
                                           std::vector<std::unique_ptr<GraphData>> bodies,
                                           const SourceLocation& where) {
    const Operand value = located(region, "conditional node", where);
    auto conditional = std::make_shared<Conditional>();
    conditional->kind = kind;
    conditional->value = value;
    Device device = value.space.device;
    if (value.space.kind == MemoryKind::pinned)
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
    if (device.kind() != node.device.kind())
        usage_error(site_of(node, where),
                    "{} is on {}, but its graph is on {}: use devices of one kind", label_of(node),
                    node.device, device);
    check_value(node, where);
    const auto& bodies = node.conditional->bodies;
    if (bodies.empty())
        usage_error(site_of(node, where), "{} has no bodies: pass at least one", label_of(node));
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        if (bodies[i] == nullptr || bodies[i]->nodes.empty())
            usage_error(site_of(node, where),
                        "{} has an empty body ({}): pass a graph that contains an empty_node()",
                        label_of(node), i);
        check_body(node, *bodies[i], where);
    }
}

}  // namespace heddle::detail

namespace heddle {

namespace {
using Bodies = std::span<const detail::Body>;

ConditionalNode make_node(detail::ConditionalKind kind, View<const int> value, Bodies graphs,
                          const SourceLocation& where) try {
    std::vector<std::unique_ptr<detail::GraphData>> bodies;
    for (const auto [graph] : graphs)
        bodies.push_back(*graph ? detail::clone_graph(detail::Access::data(*graph, where))
                                : nullptr);
    return detail::Access::make<ConditionalNode>(
        detail::make_conditional(kind, detail::region(value), std::move(bodies), where));
} catch (...) {
    detail::rethrow_as_error("conditional node", where);
}
}  // namespace

ConditionalNode if_node(View<const int> value, const Graph& body, Where where) {
    const detail::Body bodies[] = {body};
    return make_node(detail::ConditionalKind::if_else, value, bodies, where);
}
ConditionalNode if_else_node(View<const int> value, const Graph& then_body, const Graph& else_body,
                             Where where) {
    const detail::Body bodies[] = {then_body, else_body};
    return make_node(detail::ConditionalKind::if_else, value, bodies, where);
}
ConditionalNode while_node(View<const int> value, const Graph& body, Where where) {
    const detail::Body bodies[] = {body};
    return make_node(detail::ConditionalKind::while_loop, value, bodies, where);
}
ConditionalNode switch_node(View<const int> value, std::initializer_list<detail::Body> bodies,
                            Where where) {
    return make_node(detail::ConditionalKind::switch_case, value,
                     Bodies(bodies.begin(), bodies.size()), where);
}

}  // namespace heddle
