// Graphs: recorded work, launched as one.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/stream.hpp>

namespace heddle {

class Graph;

namespace detail {
struct NodeData;
struct GraphData;
}  // namespace detail

enum class NodeKind : std::uint8_t {
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
    other,  ///< captured past heddle: only CUDA knows what it is
};
std::string_view name_of(NodeKind kind) noexcept;

/// A piece of work of a graph, or of no graph yet. Copies refer to the same node. Made by kernel_node(), copy_node(), ...
/// (heddle/graph_nodes.hpp). One node may be changed by one thread at a time, and not while its graph is being launched.
class Node {
public:
    Node() noexcept = default;

    explicit operator bool() const noexcept { return data_ != nullptr; }
    friend bool operator==(const Node&, const Node&) noexcept = default;

    NodeKind kind() const;
    std::string name() const;  ///< as given; else the kernel's or the kind's, with a number inside of a graph
    Device device() const;

    /// A disabled node does nothing, and what comes after it comes after what it was after. Kernels, copies and fills.
    void enable(bool on = true, SourceLocation where = SourceLocation::current());
    void disable(SourceLocation where = SourceLocation::current()) { enable(false, where); }
    bool is_enabled() const;

    /// The graph of this node and of everything it comes after. Throws UsageError for cycles, nodes that are in another
    /// graph, and kernels without arguments, and says which nodes. Nodes of a circle lose their dependencies.
    Graph build(SourceLocation where = SourceLocation::current()) const;

    detail::NodeData& data() const;

protected:
    explicit Node(std::shared_ptr<detail::NodeData> data) noexcept : data_(std::move(data)) {}
    void add_dependency(const Node& first, const SourceLocation& where) const;
    void set_name(std::string name) const;

private:
    friend class Graph;
    friend Graph build(std::initializer_list<Node> ends, SourceLocation where);
    std::shared_ptr<detail::NodeData> data_;
};

/// One graph of several ends, with everything they come after.
Graph build(std::initializer_list<Node> ends, SourceLocation where = SourceLocation::current());

/// What is known of a node of a graph.
struct NodeInfo {
    std::size_t index;  ///< nodes come in an order in which they could run
    NodeKind kind;
    std::string name;
    Device device;
    bool enabled;
    std::vector<std::size_t> after;  ///< indices of the nodes it comes after
    int priority = 0;                ///< of kernels
    /// Those of `after` that are kernels whose end it need not wait for: dependent launches.
    std::vector<std::size_t> dependent_on = {};
};

/// Work recorded once and launched many times. Launches of one graph run one after the other, whatever their streams.
/// Arrays that its nodes use have to live as long as it is launched (UsageError else); a launch counts as their use. Destroying a graph
/// blocks nobody: what was launched goes on. Launching and changing one graph from two threads is the user's affair.
class Graph {
public:
    Graph() noexcept;  ///< of nothing: launching it is an error
    Graph(Graph&&) noexcept;
    Graph& operator=(Graph&&) noexcept;
    ~Graph();

    explicit operator bool() const noexcept { return data_ != nullptr; }

    /// The device that it has to be launched on: a stream of this one, or for CPU devices, of any CPU device.
    Device device(SourceLocation where = SourceLocation::current()) const;

    /// In the order of the stream (default: the current stream of device()). The first launch instantiates the graph; changes made to
    /// nodes since the last launch take effect.
    void launch(StreamRef stream, SourceLocation where = SourceLocation::current());
    void launch(SourceLocation where = SourceLocation::current());

    /// What the first launch would do, early: checks it, and prepares the device.
    void instantiate(SourceLocation where = SourceLocation::current());
    bool is_instantiated(SourceLocation where = SourceLocation::current()) const;
    /// Gives up the graph and its executable now, and leaves a graph of nothing. Blocks nobody: what was launched goes on.
    void reset() noexcept;
    /// Sends an instantiated graph to the device, in the order of the stream, so that the first launch is not slower than the rest.
    void upload(StreamRef stream, SourceLocation where = SourceLocation::current());

    /// Another graph of the same work; its nodes can be changed without changing these. It is not instantiated.
    Graph clone(SourceLocation where = SourceLocation::current()) const;

    /// Takes over the work of `other`, a graph of the same shape (the same kinds of nodes on the same devices, with the same edges). UsageError that names the
    /// first node that differs; this graph is then as it was.
    void update(const Graph& other, SourceLocation where = SourceLocation::current());

    std::size_t size(SourceLocation where = SourceLocation::current()) const;  ///< nodes
    std::size_t edge_count(
        SourceLocation where = SourceLocation::current()) const;  ///< dependencies between them
    std::vector<NodeInfo> nodes(SourceLocation where = SourceLocation::current()) const;
    /// The node of this name. UsageError where there is none, or several.
    Node node(std::string_view name, SourceLocation where = SourceLocation::current()) const;
    /// In the language of Graphviz: `dot -Tsvg`.
    std::string dot(SourceLocation where = SourceLocation::current()) const;

    explicit Graph(std::unique_ptr<detail::GraphData> data) noexcept;
    detail::GraphData& data(SourceLocation where = SourceLocation::current()) const;

private:
    std::unique_ptr<detail::GraphData> data_;
};

inline void launch(StreamRef stream, Graph& graph, SourceLocation where = SourceLocation::current()) {
    graph.launch(stream, where);
}
inline void launch(Graph& graph, SourceLocation where = SourceLocation::current()) { graph.launch(where); }

}  // namespace heddle
