// Places and checks of copies and fills: for copy.cpp, and for graph nodes, which enqueue them
// later.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Returns where memory is: from its array, else from the CUDA backend, else pageable host memory.
Place place_of(const Block* owner, const void* data);
/// Returns the region with its place, and the array that it is in, found by address if the region
/// names none. It is in none if it is empty or null. Throws UsageError if it begins in an array and
/// ends beyond it.
Piece located(const Region& region, const char* call, const SourceLocation& where);
/// Checks everything about the two sides that needs no stream. Throws UsageError for sides of
/// different shapes, null or overlapping sides, and views whose array is gone. Returns false if
/// there is nothing to copy.
bool check_regions(const Region& to, const Region& from, const SourceLocation& where);
/// The same for a fill.
bool check_fill(const Region& to, const SourceLocation& where);
/// Copies on `stream`, with the results of located(). The caller has checked the regions, and the
/// host may use pageable sides now: their users are not waited for.
void copy_settled(StreamRecord& stream, const Piece& to, const Piece& from,
                  const SourceLocation& where);

}  // namespace heddle::detail
