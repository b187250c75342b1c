// Phrases of reports: places, names, parts of arrays.
#pragma once

#include <string>

#include <heddle/observe/check.hpp>

#include "check/finding.hpp"
#include "check/sites.hpp"

namespace heddle::detail {

/// Returns whether the side is an access by the host.
inline bool is_host(const check::Side& side) noexcept { return side.kind == OpKind::host_access; }
/// Returns the place without folders, for example "scale.cpp:12".
std::string place_text(const Site& site);
/// Returns the place, with its column if `other` is on the same line.
std::string place_beside(const Site& site, const Site& other);
/// Returns the name and the place, for example "'scale' at scale.cpp:12".
std::string named_place(const Site& site);
/// Returns a word for the kind, for example "kernel".
const char* kind_word(OpKind kind) noexcept;
/// Returns the node, for example "kernel node 'Relax'". Default names already begin with the kind.
std::string node_text(const Site& site);
/// Returns the common part of the array, for example "elements [0, 4096)".
std::string part_text(const Finding& finding);

}  // namespace heddle::detail
