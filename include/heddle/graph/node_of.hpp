// The base of all kinds of nodes.
#pragma once

#include <concepts>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <heddle/graph/graph.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The base of all kinds of nodes; `Self` is the derived class. Setters return the node.
///
///     auto first = fill_node(x, 1.0f).name("first");
///     auto second = kernel_node(Scale{}, dim(n), 2.0f, x).after(first);
///
/// Order: a node runs when the nodes in after() have completed. Setters may be called again, even
/// for a node in a graph, and take effect at the graph's next launch. Building the graph fixes only
/// the dependencies and the device. Lifetime, errors and threads: see GraphNode.
template <class Self> class NodeOf : public GraphNode {
public:
    /// Orders this node after `first`. Throws UsageError if it is already in a graph.
    template <std::derived_from<GraphNode>... Nodes> Self& after(const Nodes&... first) {
        (add_dependency(first, SourceLocation()), ...);
        return self();
    }
    /// Orders this node after all nodes of a range, such as a std::vector<KernelNode<...>>.
    template <class Nodes>
        requires requires(const Nodes& all) {
            { *std::begin(all) } -> std::convertible_to<const GraphNode&>;
        }
    Self& after(const Nodes& all) {
        for (const GraphNode& first : all) add_dependency(first, SourceLocation());
        return self();
    }
    /// Deleted: pass the stream to Graph::launch(); write wait_node(event) for an event, and
    /// child_node(graph) for a graph.
    template <detail::IsStream S>
    Self& after(const S&, mistake::after_takes_nodes_and_launch_takes_the_stream = {}) = delete;
    Self& after(const Event&, mistake::after_takes_nodes_use_wait_node_of_the_event = {}) = delete;
    Self& after(const Graph&, mistake::after_takes_nodes_use_child_node_of_the_graph = {}) = delete;
    using GraphNode::name;
    /// Sets the name. Errors and Graph::dot() show it, and Graph::node() finds the node by it.
    Self& name(std::string text) {
        set_name(std::move(text));
        return self();
    }

protected:
    using GraphNode::GraphNode;
    explicit NodeOf(const GraphNode& node) : GraphNode(node) {}
    Self& self() noexcept { return static_cast<Self&>(*this); }
};

namespace detail {
std::shared_ptr<NodeData> new_node(NodeKind kind, Device device, Where where);
/// Returns `node`. Throws UsageError if it is of another kind.
const GraphNode& check_kind(const GraphNode& node, NodeKind kind, const SourceLocation& where);
}  // namespace detail

}  // namespace heddle
