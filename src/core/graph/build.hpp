// Graphs made of nodes, and of other graphs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/graph/graph.hpp"

namespace heddle::detail {

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

}  // namespace heddle::detail
