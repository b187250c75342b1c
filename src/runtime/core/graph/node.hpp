// One node of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/block_owner.hpp"
#include "core/seam/backend.hpp"
#include "core/seam/records.hpp"
#include <heddle/graph/graph.hpp>
#include <heddle/launch/detail/work.hpp>

namespace heddle::detail {

struct GraphData;

/// A block, and the serial that it had at the time of the use. The serial identifies the
/// allocation.
struct BlockUse {
    Block* block;
    std::uint64_t serial;
    auto operator<=>(const BlockUse&) const = default;
};

/// The condition and the bodies of a conditional node. Each body belongs to this node alone. A body
/// is null if the user passed an empty Graph, which build() refuses.
struct Conditional {
    ConditionalKind kind;
    Operand value;  ///< the int that decides
    std::vector<std::shared_ptr<GraphData>> bodies;
};

/// One node, whether or not it belongs to a graph already. A graph records changes of its nodes for
/// its next launch.
struct HEDDLE_HIDDEN NodeData {
    NodeKind kind = NodeKind::empty;
    Device device = Access::device(DeviceKind::cpu, 0);
    std::string name;  ///< set by the user; may be empty
    SourceLocation where;
    std::vector<std::shared_ptr<NodeData>> after;
    /// Dependencies that this node may overlap (programmatic dependent launch). All are kernels.
    std::vector<const NodeData*> primaries;
    bool enabled = true;
    /// Whether this node, or the node that it was copied from, is or was disabled.
    bool was_disabled = false;

    /// For kernels and host functions; `blocks` is used by all kinds.
    Work work;
    Operand to{}, from{};          ///< for copies and fills
    std::vector<std::byte> value;  ///< for a fill: the value
    EventOwner event;
    std::shared_ptr<GraphData> child;
    /// For a node copied from a child graph: the node of this graph that stands for the child
    /// graph. Otherwise null.
    const NodeData* child_node = nullptr;
    std::string captured_on;        ///< name of the captured stream; empty if not captured
    std::shared_ptr<void> foreign;  ///< for the kind `other`: work that was captured natively
    /// Never shared between nodes: each copy of a conditional node has its own.
    std::shared_ptr<const Conditional> conditional;
    std::vector<BlockOwner> owned;   ///< blocks that live as long as the node
    std::vector<BlockUse> declared;  ///< uses declared by used_on()
    /// For a memory node: whether another node already frees or reuses the memory.
    bool is_taken = false;
    int priority = 0;  ///< for kernels

    GraphData* graph = nullptr;
    std::size_t index = 0;  ///< index in the graph's nodes
    enum class Visit : std::uint8_t {
        none,
        on_path,
        done
    } visit = Visit::none;                ///< scratch data of build_graph()
    std::shared_ptr<NodeData> next_gone;  ///< scratch data of ~NodeData()

    NodeData() = default;
    NodeData(const NodeData&) = default;
    ~NodeData();
    std::string display_name() const;
    void set_enabled(bool on) noexcept {
        enabled = on;
        was_disabled = was_disabled || !on;
    }
    bool is_dependent_on(const NodeData& first) const noexcept;
    /// Returns whether the node is a kernel with no indices, or a copy or fill of no elements.
    bool has_no_work() const noexcept {
        if (kind == NodeKind::kernel) return work.count == 0;
        return (kind == NodeKind::copy || kind == NodeKind::fill) && to.bytes == 0;
    }
};

/// Returns the priority clamped to the device's range.
int clamped_priority(Device device, int priority);
/// Moves the priority from the node's launch options to the node, and clamps it.
void take_priority(NodeData& node);

/// Returns a label for messages: "kernel 'scale'" for a node with a name, otherwise "the copy (node
/// 3)". A number distinguishes nodes with equal labels: "the copy #2 (made at main.cpp:7)".
std::string label_of(const NodeData& node, std::size_t number = 0);
/// Returns the label with the place where the node was made, even for a node in a graph.
std::string label_with_place(const NodeData& node);

}  // namespace heddle::detail
