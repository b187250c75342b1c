// The host's clock, in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace heddle::detail {

/// Returns the time of std::chrono::steady_clock in nanoseconds.
inline std::int64_t now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace heddle::detail
