// Checks copies and fills, and finds where their memory is. Used by copy.cpp and fill.cpp, and by
// graph nodes, whose copies and fills are enqueued later.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Returns the space of memory. For an array, the array determines it; otherwise, the CUDA backend
/// is asked. Memory unknown to both is pageable host memory.
MemorySpace space_of(const Block* owner, const void* data);
/// Returns the region with its space and its array. If the region does not name its array, the
/// array is found by address. An empty or null region has no array. Throws UsageError if the region
/// begins in an array and ends beyond it.
Operand located(const Region& region, const char* call, const SourceLocation& where);
/// Checks everything about the two sides that does not depend on a stream. Throws UsageError for
/// sides of different shapes, for null or overlapping sides, and for views whose array was
/// destroyed. Returns false if there is nothing to copy.
bool check_regions(const Region& to, const Region& from, const SourceLocation& where);
/// Checks the destination of a fill in the same way. Returns false if there is nothing to fill.
bool check_fill(const Region& to, const SourceLocation& where);
/// Copies on `stream`. The regions must be results of located() and must have been checked. Does
/// not wait for users of pageable sides: the host must already be allowed to access them.
void copy_after_users(StreamRecord& stream, const Operand& to, const Operand& from,
                      const SourceLocation& where);

}  // namespace heddle::detail
