// Places and checks of copies and fills: for copy.cpp, and for graph nodes, which enqueue them
// later.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Returns the region with the array that it is in as its owner, found by address if the region
/// names none. Unchanged if it is in no array, empty or null. Throws UsageError if it begins in an
/// array and ends beyond it.
Region with_owner(const Region& region, const char* call, const SourceLocation& where);
/// Returns where a region is: from its owner, else from the CUDA backend, else pageable host
/// memory. Call it with the result of with_owner().
Place place_of(const Region& region);
/// Checks everything about the two sides that needs no stream. Throws UsageError for sides of
/// different shapes, null or overlapping sides, and views whose array is gone. Returns false if
/// there is nothing to copy.
bool check_regions(const Region& to, const Region& from, const SourceLocation& where);
/// Copies on `stream`, with the results of with_owner() and place_of(). The caller has checked the
/// regions, and the host may use pageable sides now: their users are not waited for.
void copy_settled(StreamRecord& stream, const Region& to, const Place& to_place, const Region& from,
                  const Place& from_place, const SourceLocation& where);
/// The same for a fill.
bool check_fill(const Region& to, const SourceLocation& where);
Piece piece_of(const Region& region, const Place& place);

}  // namespace heddle::detail
