// What core keeps of graphs: nodes, their edges, and the executable that a backend made of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.hpp"
#include "core/block_owner.hpp"
#include <heddle/detail/graph_work.hpp>
#include <heddle/graph.hpp>

namespace heddle::detail {

struct GraphData;

/// What a conditional node runs. A body is a graph that nobody else has; null if it was empty, which build() refuses.
struct Conditional {
    ConditionalKind kind;
    Region value;  ///< one int
    Place place;   ///< of the value
    std::vector<std::shared_ptr<GraphData>> bodies;
};

/// A node, in a graph or in none yet. Changes to one in a graph are noted there for its next launch.
struct NodeData {
    NodeKind kind = NodeKind::empty;
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    std::string name;  ///< as given; may be empty
    SourceLocation where;
    std::vector<std::shared_ptr<NodeData>> after;
    std::vector<const NodeData*>
        primaries;  ///< kernels that it comes after, but whose end it need not wait for
    bool enabled = true;

    Work work;                     ///< kernels and host functions; `blocks` for all kinds
    Piece to{}, from{};            ///< copies and fills
    std::vector<std::byte> value;  ///< fills
    EventOwner event;
    std::shared_ptr<GraphData> child;
    std::shared_ptr<void> foreign;                   ///< other: what was recorded past heddle
    std::shared_ptr<const Conditional> conditional;  ///< never shared by nodes: clones have their own
    std::vector<BlockOwner> owned;                   ///< memory that lives as long as the node
    bool is_given = false;  ///< memory nodes: one frees it already, or takes over what it freed
    int priority = 0;       ///< kernels

    GraphData* graph = nullptr;
    std::size_t index = 0;                                                        ///< in the graph
    enum class Visit : std::uint8_t { none, on_path, done } visit = Visit::none;  ///< while a graph is built
    std::shared_ptr<NodeData> next_gone;  ///< while many are destroyed

    NodeData() = default;
    NodeData(const NodeData&) = default;
    ~NodeData();
    std::string display_name() const;
    bool is_dependent_on(const NodeData& first) const noexcept;
};

/// A launch's priority becomes the node's.
void take_priority(NodeData& node);

/// A graph that can be launched. Made by a backend, and kept by what it launched until that has run.
class GraphExec {
public:
    virtual ~GraphExec() = default;
    /// Gives it to the stream, and counts the submission. The nodes' events are recorded by the backend; core notes what that means.
    virtual void launch(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Takes over a node's work, or whether it is enabled, for later launches. Throws where that cannot be, and nothing has changed then.
    /// Returns true if it was made anew from the whole graph: then all other changes are in it as well.
    virtual bool update(const NodeData& node, const SourceLocation& where) = 0;
    virtual void upload(StreamRecord& stream, const SourceLocation& where) = 0;
};

struct GraphData {
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    std::vector<std::shared_ptr<NodeData>> nodes;          ///< each after those that it comes after
    std::vector<std::vector<std::uint32_t>> dependencies;  ///< of each node: indices
    std::shared_ptr<GraphExec> exec;
    std::vector<std::uint32_t> changed;  ///< nodes whose work the executable does not have yet
    std::vector<Block*> blocks;          ///< memory that the nodes use, each once
    std::vector<Block*> owned;           ///< memory that belongs to nodes, each once
    std::vector<std::uint64_t> serials;  ///< of `blocks`, when the graph first knew them
    std::vector<NodeData*> records;      ///< nodes that record events
    std::vector<NodeData*> events;       ///< those, and nodes that wait for events
    bool blocks_known = false;

    GraphData() = default;
    GraphData(const GraphData&) = delete;
    GraphData& operator=(const GraphData&) = delete;
    ~GraphData();
    /// Before nodes are changed: afterwards note_change() cannot fail so many times.
    void expect_changes(std::size_t count);
    void note_change(NodeData& node) noexcept;
};

/// The graph of these nodes and of all they come after.
std::unique_ptr<GraphData> build_graph(const std::vector<std::shared_ptr<NodeData>>& ends,
                                       const SourceLocation& where);
/// The graph of these nodes, which come in an order in which they could run; children are taken apart.
std::unique_ptr<GraphData> assemble_graph(std::vector<std::shared_ptr<NodeData>> nodes, Device device,
                                          const SourceLocation& where);
/// Adds copies of the nodes of another graph, after those of these indices (none: after all ends).
void append_graph(GraphData& graph, const GraphData& more, const std::vector<std::size_t>& after);
std::unique_ptr<GraphData> clone_graph(const GraphData& graph);

/// A node that runs one of `bodies`, as `value` says when it is reached. Its device is the value's, or for pinned memory, the first body's.
std::shared_ptr<NodeData> make_conditional(ConditionalKind kind, const Region& value,
                                           std::vector<std::unique_ptr<GraphData>> bodies,
                                           const SourceLocation& where);
std::shared_ptr<const Conditional> clone_conditional(const Conditional& conditional);
/// Throws UsageError, naming the node, where a graph of this device cannot have this conditional node.
void check_conditional(const NodeData& node, Device device, const SourceLocation& where);

/// A launch that a poisoned stream drops: its functions of on_completion() are called all the same. (failures.cpp)
void complete_dropped(const GraphData& graph, StreamRecord& stream, const SourceLocation& where);

/// Why `mine` cannot take over the work of `theirs`, naming the first node that differs; empty if it can.
std::string difference_of(const GraphData& mine, const GraphData& theirs);

/// Notes which allocations the work's blocks are now.
void note_serials(Work& work);
/// Finds GraphData::blocks and owned, in bodies too.
void find_blocks(GraphData& graph);
/// Held while a graph that owns memory is launched.
SpinLock& graph_memory_lock();
[[noreturn]] void throw_dead_array(const GraphData& graph, const Block* block, const SourceLocation& where);
/// Throws UsageError, naming the node, where an event of the graph is gone.
void check_events(const GraphData& graph, const SourceLocation& where);

/// "kernel 'scale'" or "node 3 (copy)", for messages.
std::string label_of(const NodeData& node);

}  // namespace heddle::detail
