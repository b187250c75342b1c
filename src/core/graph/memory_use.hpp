// The memory and the events that the nodes of a graph use, and whether they still exist.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/graph/graph.hpp"

namespace heddle::detail {

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

}  // namespace heddle::detail
