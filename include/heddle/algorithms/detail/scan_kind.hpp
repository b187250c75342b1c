// The kinds of scans.
#pragma once

#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Whether a result of a scan includes the element at its own index.
enum class ScanKind : std::uint8_t { inclusive, exclusive };

}  // namespace detail
}  // namespace heddle
