// The memory and the events that the nodes of a graph use, and whether they still exist.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/graph/graph.hpp"

namespace heddle::detail {

/// Sets `work.serials` to the current serials of `work.blocks`.
void note_serials(Work& work);
/// Fills in GraphData::blocks, serials and owned. Includes the blocks of bodies.
void find_blocks(GraphData& graph);
/// Returns the lock to hold during the launch of a graph that owns memory.
SpinLock& graph_memory_lock();
[[noreturn]] void throw_dead_array(const GraphData& graph, const Block* block,
                                   const SourceLocation& where);
/// Throws UsageError if an event of the graph has been destroyed. The message names the node.
void check_events(const GraphData& graph, const SourceLocation& where);

}  // namespace heddle::detail
