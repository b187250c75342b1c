// Copies several small parts, also from other devices, with one kernel.
#pragma once

#include <heddle/detail/collective_call.hpp>

namespace heddle::detail {

/// The most parts that one launch copies.
inline constexpr std::size_t fetch_width = 8;

/// A copy between two parts of the same size.
struct Fetched {
    Part to, from;
};

/// Returns whether all parts are aligned for the kernel's packs.
bool can_fetch(const Fetched* parts, std::size_t count) noexcept;

/// Copies up to fetch_width parts on `stream`, whose device must reach all of them. Elements have
/// `element` bytes. The parts must not be empty or overlap, and can_fetch() must be true.
void launch_fetch(StreamRef stream, const Fetched* parts, std::size_t count, std::size_t element,
                  const SourceLocation& where);

}  // namespace heddle::detail
