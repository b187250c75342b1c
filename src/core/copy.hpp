// What copies and fills are checked for, for those that make them later: nodes of graphs.
#pragma once

#include "core/backend.hpp"

namespace heddle::detail {

/// Where a region is: what its array says, or whoever knows the address.
Place place_of(const Region& region);
/// Checks everything about the two sides that needs no stream. False: there is nothing to copy.
bool check_regions(const Region& to, const Region& from, const SourceLocation& where);
/// The same for a fill.
bool check_fill(const Region& to, const SourceLocation& where);
Piece piece_of(const Region& region, const Place& place);

}  // namespace heddle::detail
