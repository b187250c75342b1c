// Places and checks of copies and fills: for copy.cpp, and for graph nodes, which enqueue them
// later.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Returns the place of memory: from its array, else from the CUDA backend, else pageable host
/// memory.
Place place_of(const Block* owner, const void* data);
/// Returns the region with its place and its array. Finds the array by address if the region names
/// none; an empty or null region has none. Throws UsageError if the region begins in an array and
/// ends beyond it.
Piece located(const Region& region, const char* call, const SourceLocation& where);
/// Checks the properties of the two sides that do not depend on a stream. Throws UsageError for
/// sides of different shapes, null or overlapping sides, and views whose array was destroyed.
/// Returns false if there are no bytes to copy.
bool check_regions(const Region& to, const Region& from, const SourceLocation& where);
/// Checks the destination of a fill in the same way.
bool check_fill(const Region& to, const SourceLocation& where);
/// Copies on `stream`, with the results of located(). Does not wait for users of pageable sides.
/// Call it after the regions were checked, when the host may access pageable sides.
void copy_settled(StreamRecord& stream, const Piece& to, const Piece& from,
                  const SourceLocation& where);

}  // namespace heddle::detail
