// Conditional nodes: if, while and switch.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include <heddle/graph/nodes.hpp>
#include <heddle/memory/array.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Refers to a graph, which may be a temporary: the call copies it. (std::reference_wrapper accepts
/// no temporaries.)
struct Body {
    const Graph* graph;
    Body(const Graph& of) noexcept : graph(&of) {}
};
}  // namespace detail

/// A node that runs one of its bodies, or no body, depending on an int in memory. Made by
/// if_node(), if_else_node(), while_node() and switch_node().
///
///     auto count = kernel_node(CountDown{}, dim(1), left).after(step);  // writes the int `left`
///     Graph loop = while_node(left, count.build()).build();
///
/// Order: the node reads the int when its predecessors have completed. Kernels set the int by
/// writing to it. The int is in memory of the graph's device, or in pinned memory. Bodies are
/// graphs, copied when the node is made. They may contain conditional nodes. If a body fails, the
/// graph fails.
///
/// Errors: build() throws UsageError, naming the node, for a value that is not a single int in
/// memory of the device or in pinned memory. It also throws for an empty body, a body for another
/// device, and events in bodies. On CUDA devices, bodies may contain kernels of that device,
/// copies, fills, empty nodes, memory nodes and conditional nodes. Instantiation throws
/// Unsupported, naming the node, for any other node. Lifetime and threads: see GraphNode.
class ConditionalNode : public NodeOf<ConditionalNode> {
private:
    friend detail::Access;
    explicit ConditionalNode(std::shared_ptr<detail::NodeData> data) noexcept
        : NodeOf(std::move(data)) {}
};

/// Makes a node that runs the body if the value is not 0.
ConditionalNode if_node(View<const int> value, const Graph& body, Where where = {});
/// Makes a node that runs the first body if the value is not 0, and the second otherwise.
ConditionalNode if_else_node(View<const int> value, const Graph& then_body, const Graph& else_body,
                             Where where = {});
/// Makes a node that runs the body as long as the value is not 0, reading it before each pass.
ConditionalNode while_node(View<const int> value, const Graph& body, Where where = {});
/// Makes a node that runs the body whose index equals the value: `switch_node(value, {zero, one})`.
/// A value out of range runs no body. The graphs may be temporaries.
ConditionalNode switch_node(View<const int> value, std::initializer_list<detail::Body> bodies,
                            Where where = {});

}  // namespace heddle
