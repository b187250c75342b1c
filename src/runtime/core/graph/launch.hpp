// The parts of launching and updating a graph that do not need an executable.
#pragma once

#include <string>

#include "core/graph/graph.hpp"

namespace heddle::detail {

/// Called when a poisoned stream drops a launch of the graph. Enqueues the graph's on_completion()
/// functions, because these must still be called.
void complete_dropped(const GraphData& graph, StreamRecord& stream, const SourceLocation& where);

/// Returns why `mine` cannot be updated to the work of `theirs`, or an empty string if it can be.
/// The text names the first node that differs.
std::string difference_of(const GraphData& mine, const GraphData& theirs);

}  // namespace heddle::detail
