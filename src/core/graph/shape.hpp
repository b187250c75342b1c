// What observers are told of a launched graph: its nodes, their edges and accesses.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace heddle::detail {

/// A GraphShape with what it points to.
class ShapeData {
public:
    explicit ShapeData(const GraphData& graph);
    ShapeData(const ShapeData&) = delete;
    ShapeData& operator=(const ShapeData&) = delete;
    const GraphShape& shape() const noexcept { return shape_; }

private:
    void describe(const NodeData& node, std::span<const std::uint32_t> after);

    std::deque<std::string> names_;
    std::deque<std::vector<std::uint32_t>> edges_;
    std::deque<std::vector<OpAccess>> accesses_;
    std::vector<GraphNodeInfo> nodes_;
    GraphShape shape_;
};

/// Returns the shape of the graph as it is now, or null if there is no memory for it. It is made
/// once, and anew after a change of the graph.
const GraphShape* shape_of(GraphData& graph) noexcept;

}  // namespace heddle::detail
