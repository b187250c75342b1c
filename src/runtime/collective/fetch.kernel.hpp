// Copies several small parts with one kernel. Parts may be on other devices.
#pragma once

#include <heddle/collective/detail/collective_call.hpp>

namespace heddle::detail {

/// The most parts that one launch copies.
inline constexpr std::size_t fetch_width = 8;

/// A copy between two parts of the same size.
struct Fetched {
    Part to, from;
};

/// Returns whether all parts have the alignment that the kernel's packs need.
bool can_fetch(const Fetched* parts, std::size_t count) noexcept;

/// Copies up to fetch_width parts on `stream`. The stream's device must be able to access all
/// parts. Elements have `element` bytes. Parts must not be empty and must not overlap. can_fetch()
/// must be true for them.
void launch_fetch(StreamRef stream, const Fetched* parts, std::size_t count, std::size_t element,
                  const SourceLocation& where);

}  // namespace heddle::detail
