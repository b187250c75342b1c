// GraphNode: a handle to one operation of a graph.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

class Graph;

namespace detail {
struct NodeData;
}  // namespace detail

/// The kind of a node's work.
enum class NodeKind : std::uint8_t {
    /// A kernel: portable, `__global__` or from a module.
    kernel,
    copy,
    fill,
    host_function,
    empty,
    record_event,
    wait_event,
    child_graph,
    conditional,
    allocate,
    free,
    other,  ///< captured natively, outside heddle; its kind is known to CUDA only
};
/// Returns the name of a kind, "host function" for example.
const char* to_string(NodeKind kind) noexcept;

/// A handle to one operation, which may or may not be in a graph yet. Made by kernel_node(),
/// copy_node() and others (heddle/graph/nodes.hpp). Copies refer to the same node.
///
///     GraphNode node = graph.node("scale");
///     node.disable();  // from the next launch on
///
/// The following holds for all kinds of nodes. Lifetime: a handle keeps its node, even if the graph
/// is destroyed. The node can then be built into another graph. Errors: members throw UsageError if
/// the handle refers to no node. Thread-safety: one thread at a time may change a node, and none
/// while its graph is being launched.
class GraphNode {
public:
    GraphNode() noexcept = default;

    /// Returns whether it refers to a node.
    explicit operator bool() const noexcept { return data_ != nullptr; }
    friend bool operator==(const GraphNode&, const GraphNode&) noexcept = default;
    /// Compares nodes in an arbitrary but stable order, for sets and maps.
    friend std::strong_ordering operator<=>(const GraphNode& a, const GraphNode& b) noexcept {
        return detail::order_of(a.data_.get(), b.data_.get());
    }

    /// Returns the kind of the node's work.
    NodeKind kind() const;
    /// Returns the name set by name(). By default, returns the name of the kernel or kind; in a
    /// graph, the node's index is appended: "Saxpy 1".
    std::string name() const;
    /// Returns the device on which the node runs.
    Device device() const;

    /// Enables or disables the node from the graph's next launch on. A disabled node is skipped;
    /// its successors inherit its dependencies. Throws UsageError unless it is a kernel, copy or
    /// fill.
    void enable(bool on = true, Where where = {});
    /// Calls enable(false).
    void disable(Where where = {}) { enable(false, where); }
    /// Returns whether the node is enabled.
    bool is_enabled() const;

    /// Builds a graph of this node and all its predecessors. Throws UsageError, naming the nodes,
    /// for cycles, nodes that are already in a graph, and kernels without arguments. The nodes of a
    /// cycle lose their dependencies.
    Graph build(Where where = {}) const;

protected:
    friend detail::Access;
    explicit GraphNode(std::shared_ptr<detail::NodeData> data) noexcept : data_(std::move(data)) {}
    /// Returns the node's data. Throws UsageError if the handle refers to no node.
    detail::NodeData& data() const;
    void add_dependency(const GraphNode& first, const SourceLocation& where) const;
    void set_name(std::string name) const;

private:
    std::shared_ptr<detail::NodeData> data_;
};

inline detail::NodeData& detail::Access::data(const GraphNode& node) { return node.data(); }
inline const std::shared_ptr<detail::NodeData>& detail::Access::shared(const GraphNode& node) {
    (void)node.data();
    return node.data_;
}
inline detail::NodeData* detail::Access::data_or_null(const GraphNode& node) noexcept {
    return node.data_.get();
}

}  // namespace heddle

template <> struct std::hash<heddle::GraphNode> {
    std::size_t operator()(const heddle::GraphNode& node) const noexcept {
        return std::hash<const void*>()(heddle::detail::Access::data_or_null(node));
    }
};
