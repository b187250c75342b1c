// Builds graphs from nodes, and from other graphs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/graph/graph.hpp"

namespace heddle::detail {

/// Builds a graph from these nodes and all of their dependencies. Throws UsageError for cycles, for
/// nodes of other graphs, and for kernels without arguments. The message names the nodes.
std::unique_ptr<GraphData> build_graph(const std::vector<std::shared_ptr<NodeData>>& ends,
                                       const SourceLocation& where);
/// Builds a graph from exactly these nodes, which must be in topological order. Replaces child
/// graphs by their nodes.
std::unique_ptr<GraphData> assemble_graph(std::vector<std::shared_ptr<NodeData>> nodes,
                                          Device device, const SourceLocation& where);
/// Adds copies of the nodes of `more`. They are ordered after the nodes with the indices `after`,
/// or after all nodes of the graph if `after` is empty. Drops the executable.
void append_graph(GraphData& graph, const GraphData& more, const std::vector<std::size_t>& after);
std::unique_ptr<GraphData> clone_graph(const GraphData& graph);

}  // namespace heddle::detail
