// Places and checks of copies and fills: for copy.cpp, and for graph nodes, which enqueue them
// later.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Returns where a region is: from its array, else from the CUDA backend, else pageable host
/// memory.
Place place_of(const Region& region);
/// Checks everything about the two sides that needs no stream. Throws UsageError for sides of
/// different shapes, null or overlapping sides, and views whose array is gone. Returns false if
/// there is nothing to copy.
bool check_regions(const Region& to, const Region& from, const SourceLocation& where);
/// The same for a fill.
bool check_fill(const Region& to, const SourceLocation& where);
Piece piece_of(const Region& region, const Place& place);

}  // namespace heddle::detail
