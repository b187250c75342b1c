// The kinds of scans.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// Whether a result of a scan includes the element at its own index.
enum class ScanKind : std::uint8_t { inclusive, exclusive };

}  // namespace heddle::detail
