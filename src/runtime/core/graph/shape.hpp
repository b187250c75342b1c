// The form in which a launched graph is reported to observers: nodes, edges and accesses.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace heddle::detail {

/// A GraphShape with the data that it points to.
class ShapeData {
public:
    explicit ShapeData(const GraphData& graph);
    ShapeData(const ShapeData&) = delete;
    ShapeData& operator=(const ShapeData&) = delete;
    const GraphShape& shape() const noexcept { return shape_; }

private:
    /// Adds the nodes of a graph. If `inside` is not no_node, the graph is a body of node `inside`.
    void describe(const GraphData& graph, std::uint32_t inside, std::uint32_t alternative);
    void describe(const NodeData& node, std::span<const std::uint32_t> after);

    std::deque<std::string> names_, streams_;
    std::deque<std::vector<std::uint32_t>> edges_;
    std::deque<std::vector<OpAccess>> accesses_;
    std::vector<OpNode> nodes_;
    GraphShape shape_;
};

/// Returns how many nodes are reported to observers for this node. These are the node itself and,
/// directly after it, the nodes of its bodies.
std::uint32_t told_nodes(const NodeData& node) noexcept;

/// Returns the current shape of the graph. Returns null if memory is exhausted. The shape is cached
/// until the graph changes.
const GraphShape* shape_of(GraphData& graph) noexcept;

}  // namespace heddle::detail
