// The host's clock, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace heddle::detail {

/// Returns the time of std::chrono::steady_clock in nanoseconds. (libstdc++'s is CLOCK_MONOTONIC,
/// behind one more call.)
inline std::int64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace heddle::detail
