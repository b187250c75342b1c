// Graphs: work that is built once and launched many times.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/stream/stream.hpp>

#include <heddle/graph/node.hpp>

namespace heddle HEDDLE_VISIBLE {

class Graph;

namespace detail {
struct NodeData;
struct GraphData;
}  // namespace detail

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
/// Order: launches of one graph run one after the other, even on different streams.
///
/// Lifetime: the arrays and events that its nodes use must exist at every launch. A launch counts
/// as a use of the arrays. Destroying a graph does not block, and launches already enqueued still
/// complete.
///
/// Errors: a launch throws UsageError for an array or event that was destroyed. Members throw
/// UsageError for an empty handle (moved from, reset or default-constructed). A node that fails
/// poisons the stream of the launch.
///
/// Thread-safety: one thread at a time may launch or change a graph.
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
