// Graphs: work that is built once and launched many times.
#pragma once

#include <compare>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/stream/stream.hpp>

namespace heddle {

class Graph;

namespace detail {
struct NodeData;
struct GraphData;
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
/// copy_node() and others (heddle/graph/nodes.hpp). Copies refer to the same node. Errors: members
/// throw UsageError if the handle refers to no node. Thread-safety: one thread at a time may change
/// a node, and none while its graph is being launched.
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

/// Builds one graph of several end nodes and all their predecessors. Throws as node.build() does.
Graph build(std::initializer_list<GraphNode> ends, Where where = {});

/// A description of one node of a graph, as Graph::nodes() returns it.
struct NodeInfo {
    std::size_t index;  ///< in topological order
    /// The same as GraphNode::kind().
    NodeKind kind;
    /// The same as GraphNode::name().
    std::string name;
    /// The device on which the node runs.
    Device device;
    /// False after GraphNode::disable().
    bool enabled;
    std::vector<std::size_t> after;  ///< indices of the nodes that it depends on
    int priority = 0;                ///< for kernels only
    /// The kernels among `after` that this one may overlap (KernelNode::dependent_on()).
    std::vector<std::size_t> dependent_on = {};
};

/// Work that is built once and launched many times, like a CUDA graph. Made by build() from nodes,
/// or by capture() from streams.
///
///     auto start = fill_node(x, 1.0f);
///     auto twice = kernel_node(Saxpy{}, dim(n), 2.0f, x, y).after(start).name("twice");
///     Graph graph = twice.build();
///     graph.launch(stream);
///
/// Order: launches of one graph run one after the other, even on different streams. Lifetime: the
/// arrays and events that its nodes use must exist at every launch, which otherwise throws
/// UsageError. A launch counts as a use of the arrays. Destroying a graph does not block, and
/// launches already enqueued still complete. Thread-safety: callers synchronise launches and
/// changes of one graph.
class Graph {
public:
    Graph() noexcept;  ///< an empty handle: launching it throws UsageError
    /// Deleted: write node.build(), or build({node, node}).
    Graph(const GraphNode&, mistake::a_node_is_not_a_Graph_use_build = {}) = delete;
    Graph(Graph&&) noexcept;
    Graph& operator=(Graph&&) noexcept;
    ~Graph();

    /// Returns whether the handle refers to a graph.
    explicit operator bool() const noexcept { return data_ != nullptr; }

    /// Returns the device of the first CUDA node, or of the first node if all nodes are on CPU
    /// devices. The graph can be launched on streams of every GPU that its nodes use, or of any CPU
    /// device if it has only CPU nodes.
    Device device(Where where = {}) const;

    /// Enqueues the graph on `stream` (default: the current stream of device()). The first launch
    /// instantiates the graph. Changes made to nodes since the last launch take effect. Throws
    /// UsageError if the graph cannot be launched on the stream's device, and if an array or event
    /// has been destroyed.
    void launch(StreamRef stream, Where where = {});
    void launch(Where where = {});

    /// Checks the graph and prepares the device, to make the first launch faster. Applies the
    /// changes made to nodes if the graph is already instantiated.
    void instantiate(Where where = {});
    /// Returns whether instantiate() or a launch has prepared the device.
    bool is_instantiated(Where where = {}) const;
    /// Releases the graph and its executable, and leaves an empty handle. Does not block; launches
    /// already enqueued still complete.
    void reset() noexcept;
    /// Instantiates the graph if needed, and uploads it to the device in stream order, so that the
    /// first launch is as fast as later ones.
    void upload(StreamRef stream, Where where = {});

    /// Returns a copy of the graph with nodes of its own. The copy is not instantiated.
    Graph clone(Where where = {}) const;

    /// Replaces the work of this graph with that of `other`, from the next launch on. Both must
    /// have the same shape: the same kinds of nodes on the same devices, with the same edges and
    /// events. Throws UsageError, naming the first node that differs; this graph is then unchanged.
    void update(const Graph& other, Where where = {});

    /// Returns the number of nodes.
    std::size_t size(Where where = {}) const;
    /// Returns the number of dependencies between nodes.
    std::size_t edge_count(Where where = {}) const;
    /// Returns a description of every node, in topological order.
    std::vector<NodeInfo> nodes(Where where = {}) const;
    /// Returns the node of this name. Throws UsageError if there is none, or more than one.
    GraphNode node(std::string_view name, Where where = {}) const;
    /// Returns the graph in Graphviz' DOT language, for `dot -Tsvg`.
    std::string dot(Where where = {}) const;

private:
    friend detail::Access;
    explicit Graph(std::unique_ptr<detail::GraphData> data) noexcept;
    /// Returns the graph's data. Throws UsageError if the handle is empty.
    detail::GraphData& data(Where where) const;

    std::unique_ptr<detail::GraphData> data_;
};

inline detail::GraphData& detail::Access::data(const Graph& graph, Where where) {
    return graph.data(where);
}

/// Calls graph.launch().
inline void launch(StreamRef stream, Graph& graph, Where where = {}) {
    graph.launch(stream, where);
}
inline void launch(Graph& graph, Where where = {}) { graph.launch(where); }
/// Launches the graph on the current stream of `device`.
void launch(Device device, Graph& graph, Where where = {});

}  // namespace heddle

template <> struct std::hash<heddle::GraphNode> {
    std::size_t operator()(const heddle::GraphNode& node) const noexcept {
        return std::hash<const void*>()(heddle::detail::Access::data_or_null(node));
    }
};
