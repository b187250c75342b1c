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
#include <heddle/detail/work.hpp>
#include <heddle/graph/graph.hpp>

namespace heddle::detail {

struct GraphData;

/// A block, and its serial when the use was noted, which identifies the allocation.
struct BlockUse {
    Block* block;
    std::uint64_t serial;
    auto operator<=>(const BlockUse&) const = default;
};

/// The decision and the bodies of a conditional node. Each body belongs to this node alone. It is
/// null if the user's Graph was empty, which build() refuses.
struct Conditional {
    ConditionalKind kind;
    Piece value;  ///< one int
    std::vector<std::shared_ptr<GraphData>> bodies;
};

/// One node, in a graph or not yet in one. A graph notes changes to its nodes, for its next launch.
struct NodeData {
    NodeKind kind = NodeKind::empty;
    Device device = Access::device(DeviceKind::cpu, 0);
    std::string name;  ///< set by the user; may be empty
    SourceLocation where;
    std::vector<std::shared_ptr<NodeData>> after;
    /// Kernels among its dependencies that it may overlap (programmatic dependent launch).
    std::vector<const NodeData*> primaries;
    bool enabled = true;
    bool was_disabled = false;  ///< this node, or one that it was copied from, is or was disabled

    Work work;                     ///< kernels and host functions; all kinds use its `blocks`
    Piece to{}, from{};            ///< copies and fills
    std::vector<std::byte> value;  ///< for a fill: the value
    EventOwner event;
    std::shared_ptr<GraphData> child;
    /// For a child graph's node: the child graph's own node, in the same graph; else null.
    const NodeData* child_node = nullptr;
    std::string captured_on;        ///< the captured stream's name; empty if it was not captured
    std::shared_ptr<void> foreign;  ///< kind `other`: natively captured work
    /// Not shared between nodes: each clone of a conditional node has its own.
    std::shared_ptr<const Conditional> conditional;
    std::vector<BlockOwner> owned;   ///< memory that lives as long as the node
    std::vector<BlockUse> declared;  ///< uses that the user declared with used_on()
    bool is_given = false;  ///< for a memory node: a node already frees or reuses the memory
    int priority = 0;       ///< for a kernel

    GraphData* graph = nullptr;
    std::size_t index = 0;  ///< index in the graph's nodes
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
    /// Returns whether it is a kernel of no indices, or a copy or fill of no elements.
    bool has_no_work() const noexcept {
        if (kind == NodeKind::kernel) return work.count == 0;
        return (kind == NodeKind::copy || kind == NodeKind::fill) && to.bytes == 0;
    }
};

/// Returns the priority clamped to the device's range.
int clamped_priority(Device device, int priority);
/// Moves the priority in the node's launch options to the node, clamped to the device's range.
void take_priority(NodeData& node);

/// Returns "kernel 'scale'" for a node with a name, else "the copy (node 3)", for messages. A
/// number distinguishes nodes with equal labels: "the copy #2 (made at main.cpp:7)".
std::string label_of(const NodeData& node, std::size_t number = 0);
/// Returns the label with the place where the node was made, also for a node in a graph.
std::string label_with_place(const NodeData& node);

}  // namespace heddle::detail
