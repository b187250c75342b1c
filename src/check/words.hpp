// Words of which reports consist: places, names, parts of arrays.
#pragma once

#include <string>

#include <heddle/check.hpp>

#include "check/finding.hpp"
#include "check/sites.hpp"

namespace heddle::detail {

/// Returns whether the side is an access by the host.
inline bool is_host(const check::Side& side) noexcept { return side.kind == OpKind::host_access; }
/// Returns the place without the file's folders, "scale.cpp:12".
std::string place_text(const Site& site);
/// Returns the place, with its column if the other one is on the same line.
std::string place_beside(const Site& site, const Site& other);
/// Returns "'scale' at scale.cpp:12".
std::string named_place(const Site& site);
/// Returns "kernel", for example.
const char* kind_word(OpKind kind) noexcept;
/// Returns "kernel node 'Relax'", for example. Names that nobody gave begin with the kind.
std::string node_text(const Site& site);
/// Returns which part of an array the common bytes are, "elements [0, 4096)" for example.
std::string part_text(const Finding& finding);

}  // namespace heddle::detail
