// What core keeps of graphs: nodes, their edges, and the executable that a backend made of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.hpp"
#include <heddle/detail/graph_work.hpp>
#include <heddle/graph.hpp>

namespace heddle::detail {

struct GraphData;

/// A node, in a graph or in none yet. Changes to one in a graph are noted there for its next launch.
struct NodeData {
    NodeKind kind = NodeKind::empty;
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    std::string name;  ///< as given; may be empty
    SourceLocation where;
    std::vector<std::shared_ptr<NodeData>> after;
    bool enabled = true;

    Work work;                     ///< kernels and host functions; `blocks` for all kinds
    Piece to{}, from{};            ///< copies and fills
    std::vector<std::byte> value;  ///< fills
    EventState* event = nullptr;
    std::shared_ptr<GraphData> child;
    std::shared_ptr<void> foreign;  ///< other: what was recorded past heddle

    GraphData* graph = nullptr;
    std::size_t index = 0;                                                        ///< in the graph
    enum class Visit : std::uint8_t { none, on_path, done } visit = Visit::none;  ///< while a graph is built

    NodeData() = default;
    NodeData(const NodeData&) = default;
    ~NodeData();
    std::string display_name() const;
};

/// A graph that can be launched. Made by a backend, and kept by what it launched until that has run.
class GraphExec {
public:
    virtual ~GraphExec() = default;
    /// Gives it to the stream, and counts the submission. The nodes' events are recorded by the backend; core notes what that means.
    virtual void launch(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Takes over a node's work, or whether it is enabled, for later launches. Throws where that cannot be, and nothing has changed then.
    virtual void update(const NodeData& node, const SourceLocation& where) = 0;
    virtual void upload(StreamRecord& stream, const SourceLocation& where) = 0;
};

struct GraphData {
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    std::vector<std::shared_ptr<NodeData>> nodes;          ///< each after those that it comes after
    std::vector<std::vector<std::uint32_t>> dependencies;  ///< of each node: indices
    std::shared_ptr<GraphExec> exec;
    std::vector<std::uint32_t> changed;  ///< nodes whose work the executable does not have yet
    std::vector<Block*> blocks;          ///< memory that the nodes use, each once
    std::vector<NodeData*> records;      ///< nodes that record events
    bool blocks_known = false;

    GraphData() = default;
    GraphData(const GraphData&) = delete;
    GraphData& operator=(const GraphData&) = delete;
    ~GraphData();
    void note_change(NodeData& node);
};

/// The graph of these nodes and of all they come after.
std::unique_ptr<GraphData> build_graph(const std::vector<std::shared_ptr<NodeData>>& ends,
                                       const SourceLocation& where);
/// The graph of these nodes, which come in an order in which they could run; children are taken apart.
std::unique_ptr<GraphData> assemble_graph(std::vector<std::shared_ptr<NodeData>> nodes, Device device);
/// Adds copies of the nodes of another graph, after those of these indices (none: after all ends).
void append_graph(GraphData& graph, const GraphData& more, const std::vector<std::size_t>& after);
std::unique_ptr<GraphData> clone_graph(const GraphData& graph);

/// "kernel 'scale'" or "node 3 (copy)", for messages.
std::string label_of(const NodeData& node);

}  // namespace heddle::detail
