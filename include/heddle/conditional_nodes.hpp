// Nodes that decide when they are reached: if, while and switch.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>

#include <heddle/array.hpp>
#include <heddle/graph_nodes.hpp>

namespace heddle {

namespace detail {
std::shared_ptr<NodeData> new_conditional(ConditionalKind kind, View<const int> value,
                                          std::span<const std::reference_wrapper<const Graph>> bodies,
                                          const SourceLocation& where);
}  // namespace detail

/// Runs one of its bodies, or none, as an int in memory says when the node is reached; kernels set it by writing to it. The int is memory of
/// the graph's device, or pinned. Bodies are graphs, taken as they are now, and may hold conditional nodes themselves. A body's failure
/// is the graph's.
///
/// build() throws UsageError, naming the node, for a value that is not one int of the device, an empty body, a body of another device, and
/// events in bodies. On CUDA devices bodies hold kernels of that device, copies, fills, empty and memory nodes and conditionals: for other
/// nodes instantiating throws Unsupported, and names them.
class ConditionalNode : public NodeOf<ConditionalNode> {
public:
    ConditionalNode(detail::ConditionalKind kind, View<const int> value,
                    std::span<const std::reference_wrapper<const Graph>> bodies, SourceLocation where)
        : NodeOf(detail::new_conditional(kind, value, bodies, where)) {}
};

/// Runs the body if the value is not 0.
inline ConditionalNode if_node(View<const int> value, const Graph& body,
                               SourceLocation where = SourceLocation::current()) {
    const std::reference_wrapper<const Graph> bodies[] = {body};
    return {detail::ConditionalKind::if_else, value, bodies, where};
}
/// Runs the first body if the value is not 0, else the second.
inline ConditionalNode if_else_node(View<const int> value, const Graph& then_body, const Graph& else_body,
                                    SourceLocation where = SourceLocation::current()) {
    const std::reference_wrapper<const Graph> bodies[] = {then_body, else_body};
    return {detail::ConditionalKind::if_else, value, bodies, where};
}
/// Runs the body as long as the value is not 0; it is read before each pass.
inline ConditionalNode while_node(View<const int> value, const Graph& body,
                                  SourceLocation where = SourceLocation::current()) {
    const std::reference_wrapper<const Graph> bodies[] = {body};
    return {detail::ConditionalKind::while_loop, value, bodies, where};
}
/// Runs the body whose index the value is, and none if it is no index: `switch_node(value, {none, one, two})`.
inline ConditionalNode switch_node(View<const int> value,
                                   std::initializer_list<std::reference_wrapper<const Graph>> bodies,
                                   SourceLocation where = SourceLocation::current()) {
    return {detail::ConditionalKind::switch_case, value, std::span(bodies.begin(), bodies.size()), where};
}

}  // namespace heddle
