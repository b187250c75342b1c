// Parts of a graph's launch besides its executable.
#pragma once

#include <string>

#include "core/graph/graph.hpp"

namespace heddle::detail {

/// Enqueues the on_completion() functions of a graph whose launch a poisoned stream drops: they are
/// still called.
void complete_dropped(const GraphData& graph, StreamRecord& stream, const SourceLocation& where);

/// Returns why `mine` cannot be updated to the work of `theirs`, with the first node that differs.
/// Returns an empty string if it can.
std::string difference_of(const GraphData& mine, const GraphData& theirs);

}  // namespace heddle::detail
