// Graphs in core: nodes, their edges, and the executable that a backend makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/errors.hpp"
#include "core/graph/block_owner.hpp"
#include "core/seam/backend.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"
#include <heddle/detail/work.hpp>
#include <heddle/graph/graph.hpp>

namespace heddle::detail {

struct GraphData;
class ShapeData;  // core/graph/shape.hpp

/// A block, and its serial when the use was noted: which of its allocations is meant.
struct BlockUse {
    Block* block;
    std::uint64_t serial;
    auto operator<=>(const BlockUse&) const = default;
};

/// The decision and the bodies of a conditional node. Each body belongs to this node alone. It is
/// null if the user's Graph was empty, which build() refuses.
struct Conditional {
    ConditionalKind kind;
    Region value;  ///< one int
    Place place;   ///< of the value
    std::vector<std::shared_ptr<GraphData>> bodies;
};

/// One node, in a graph or not in one yet. A graph notes changes to its nodes, for its next launch.
struct NodeData {
    NodeKind kind = NodeKind::empty;
    Device device = Access::device(DeviceKind::cpu, 0);
    std::string name;  ///< set by the user; may be empty
    SourceLocation where;
    std::vector<std::shared_ptr<NodeData>> after;
    /// Kernels among its dependencies that it may overlap (programmatic dependent launch).
    std::vector<const NodeData*> primaries;
    bool enabled = true;
    bool was_disabled = false;  ///< is disabled, or was once; copies of the node too

    Work work;                     ///< kernels and host functions; all kinds use its `blocks`
    Piece to{}, from{};            ///< copies and fills
    std::vector<std::byte> value;  ///< fills
    EventOwner event;
    std::shared_ptr<GraphData> child;
    /// For a child graph's node: the child graph's own node, in the same graph; else null.
    const NodeData* child_node = nullptr;
    std::string captured_on;        ///< the captured stream's name; empty if it was not captured
    std::shared_ptr<void> foreign;  ///< kind `other`: natively captured work
    /// Not shared between nodes: each clone has its own.
    std::shared_ptr<const Conditional> conditional;
    std::vector<BlockOwner> owned;   ///< memory that lives as long as the node
    std::vector<BlockUse> declared;  ///< uses that the user declared with used_on()
    bool is_given = false;  ///< memory nodes: already freed by a node, or already reused by one
    int priority = 0;       ///< kernels

    GraphData* graph = nullptr;
    std::size_t index = 0;  ///< in the graph
    enum class Visit : std::uint8_t {
        none,
        on_path,
        done
    } visit = Visit::none;                ///< used by build_graph()
    std::shared_ptr<NodeData> next_gone;  ///< used by ~NodeData()

    NodeData() = default;
    NodeData(const NodeData&) = default;
    ~NodeData();
    std::string display_name() const;
    void set_enabled(bool on) noexcept {
        enabled = on;
        was_disabled = was_disabled || !on;
    }
    bool is_dependent_on(const NodeData& first) const noexcept;
};

/// Moves the priority in the node's launch options to the node, clamped to the device's range.
void take_priority(NodeData& node);

/// A stream's part in a batch that is launched as one graph.
struct StreamPart {
    /// What the stream was given before, as far as it may have failed.
    struct Past {
        std::shared_ptr<Fate> fate;  ///< null: nothing of it can fail
        std::uint64_t submissions = 0;
        CompletionRef reached;  ///< CPU: completes with what an earlier graph did for the stream
        /// Returns the failure, or null. Call it only once all that was given before is done.
        Failure failure() const noexcept {
            Failure failure = fate != nullptr ? fate->failure_up_to(submissions) : nullptr;
            if (failure == nullptr && reached && reached->is_done()) failure = reached->failure();
            return failure;
        }
    };
    StreamRecord* stream = nullptr;  ///< null if it has left
    /// What the stream's further work comes after: nodes, and parts whose past counts.
    std::span<const std::uint32_t> tail;
    std::span<const std::uint32_t> begins;
    const Past* past = nullptr;
    /// CPU: set by the launch. Completes when the graph is done, with the part's own failure.
    CompletionRef after;
};
/// A node that is the first to depend on the past of a part.
struct PartBegin {
    std::uint32_t node;
    std::uint32_t part;
};
/// A node that records an event.
struct PartMark {
    std::uint32_t node;
    std::shared_ptr<Fate> fate;  ///< CUDA: set by the launch; null if the node cannot fail late
};

/// An instantiated graph, made by a backend. May be destroyed while launches are pending: they keep
/// what they need.
class GraphExec {
public:
    virtual ~GraphExec() = default;
    /// Enqueues the graph and counts the submission. The backend records the nodes' events; core
    /// then calls note_record() for them.
    virtual void launch(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Enqueues a batch's graph on the stream of the first part, and orders further work of all
    /// parts after it. If a node fails, the parts fail whose tail comes after it, and no others
    /// (CPU), or those that are connected with it (CUDA). If it throws, nothing has been enqueued.
    virtual void launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                              std::span<PartMark> marks, const SourceLocation& where) = 0;
    /// Applies a node's work, and whether it is enabled, to later launches. If it throws, nothing
    /// has changed. Returns true if the executable was rebuilt from the whole graph, which includes
    /// all other changes.
    virtual bool update(const NodeData& node, const SourceLocation& where) = 0;
    virtual void upload(StreamRecord& stream, const SourceLocation& where) = 0;
};

/// Returns the bit that stands for a GPU in GraphData::gpus, or 0 for a CPU device.
inline std::uint64_t gpu_bit(Device device) noexcept {
    static_assert(max_devices <= 64);
    return device.is_cuda() ? std::uint64_t{1} << device.index() : 0;
}

struct GraphData {
    Device device = Access::device(DeviceKind::cpu, 0);
    std::uint64_t gpus = 0;                                ///< of the nodes, by gpu_bit()
    std::vector<std::shared_ptr<NodeData>> nodes;          ///< in topological order
    std::vector<std::vector<std::uint32_t>> dependencies;  ///< of each node: indices
    std::shared_ptr<GraphExec> exec;
    std::vector<std::uint32_t> changed;      ///< nodes whose changes `exec` does not have yet
    std::vector<Block*> blocks;              ///< memory that the nodes use, each allocation once
    std::vector<Block*> owned;               ///< memory that nodes own, each block once
    std::vector<std::uint64_t> serials;      ///< of `blocks`, when the uses were noted
    std::vector<NodeData*> records;          ///< nodes that record events
    std::vector<NodeData*> events;           ///< nodes that record events or wait for them
    bool blocks_known = false;               ///< `blocks`, `owned` and `serials` are up to date
    std::shared_ptr<const ShapeData> shape;  ///< for observers; null if it has to be made anew
    std::uint64_t uid = 0;                   ///< for observers; 0 before it has a shape

    GraphData() = default;
    GraphData(const GraphData&) = delete;
    GraphData& operator=(const GraphData&) = delete;
    ~GraphData();
    /// Reserves room for `count` calls of note_change(), which cannot fail then.
    void expect_changes(std::size_t count);
    void note_change(NodeData& node) noexcept;
};

/// Builds the graph of these nodes and of all their dependencies. Throws UsageError, which names
/// the nodes, for cycles, nodes of other graphs, and kernels without arguments.
std::unique_ptr<GraphData> build_graph(const std::vector<std::shared_ptr<NodeData>>& ends,
                                       const SourceLocation& where);
/// Builds the graph of exactly these nodes, which are in topological order. Expands child graphs
/// into their nodes.
std::unique_ptr<GraphData> assemble_graph(std::vector<std::shared_ptr<NodeData>> nodes,
                                          Device device, const SourceLocation& where);
/// Adds copies of the nodes of `more`, ordered after the nodes with the indices `after`. If
/// `after` is empty, after all nodes of the graph. Drops the executable.
void append_graph(GraphData& graph, const GraphData& more, const std::vector<std::size_t>& after);
std::unique_ptr<GraphData> clone_graph(const GraphData& graph);

/// Makes a node that reads `value` when it is reached and runs its bodies accordingly. The node's
/// device is the value's; if that is in pinned memory, the first body's.
std::shared_ptr<NodeData> make_conditional(ConditionalKind kind, const Region& value,
                                           std::vector<std::unique_ptr<GraphData>> bodies,
                                           const SourceLocation& where);
std::shared_ptr<const Conditional> clone_conditional(const Conditional& conditional);
/// Throws UsageError, which names the node, if a graph of this device cannot have this conditional
/// node.
void check_conditional(const NodeData& node, Device device, const SourceLocation& where);

/// Enqueues the on_completion() functions of a graph whose launch a poisoned stream drops: they are
/// called all the same.
void complete_dropped(const GraphData& graph, StreamRecord& stream, const SourceLocation& where);

/// Returns why `mine` cannot take over the work of `theirs`, with the first node that differs.
/// Empty if it can.
std::string difference_of(const GraphData& mine, const GraphData& theirs);

/// Sets `work.serials` to the current serials of `work.blocks`.
void note_serials(Work& work);
/// Fills GraphData::blocks, serials and owned, from bodies too.
void find_blocks(GraphData& graph);
/// Returns the lock to hold while a graph that owns memory is launched.
SpinLock& graph_memory_lock();
[[noreturn]] void throw_dead_array(const GraphData& graph, const Block* block,
                                   const SourceLocation& where);
/// Throws UsageError, which names the node, if an event of the graph has been destroyed.
void check_events(const GraphData& graph, const SourceLocation& where);

/// Throws UsageError for the value of a condition that is not one int. `who` has it.
[[noreturn]] void throw_not_one_int(const ErrorSite& site, std::string_view who, std::size_t count);

/// Returns "kernel 'scale'" for a node with a name, else "the copy (node 3)", for messages. A
/// number tells nodes apart whose labels are the same: "the copy #2 (made at main.cpp:7)".
std::string label_of(const NodeData& node, std::size_t number = 0);

}  // namespace heddle::detail
