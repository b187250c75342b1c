// Copies of several small parts, from other devices too, by one kernel.
#pragma once

#include <heddle/detail/collective_call.hpp>

namespace heddle::detail {

/// How many parts one launch copies.
inline constexpr std::size_t fetch_width = 8;

/// Parts of so many bytes.
struct Fetched {
    Part to, from;
    std::size_t bytes;
};

/// Whether all parts begin where the kernel can read and write packs.
bool can_fetch(const Fetched* parts, std::size_t count) noexcept;

/// Copies up to fetch_width parts, none empty, that can_fetch() and do not overlap, on `stream`, whose device reaches all of them.
void launch_fetch(StreamRef stream, const Fetched* parts, std::size_t count, const SourceLocation& where);

}  // namespace heddle::detail
