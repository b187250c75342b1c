// Copies of several small parts, from other devices too, by one kernel.
#pragma once

#include <heddle/detail/collective_call.hpp>

namespace heddle::detail {

/// How many parts one launch copies.
inline constexpr std::size_t fetch_width = 8;

/// A copy between parts of the same size.
struct Fetched {
    Part to, from;
};

/// Whether all parts begin where the kernel can read and write packs.
bool can_fetch(const Fetched* parts, std::size_t count) noexcept;

/// Copies up to fetch_width parts of elements of `element` bytes, none empty, that can_fetch() and do not overlap, on `stream`, whose device reaches all
/// of them.
void launch_fetch(StreamRef stream, const Fetched* parts, std::size_t count, std::size_t element,
                  const SourceLocation& where);

}  // namespace heddle::detail
