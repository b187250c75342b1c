// Failures that are found only when they are looked up, such as bad indices of kernels on GPUs.
#pragma once

#include <atomic>

namespace heddle::detail {

/// Poisons the streams and outcomes whose work is found to have failed. Null while no work can fail
/// in this way. Locks no stream.
inline constinit std::atomic<void (*)() noexcept> find_late_failures{nullptr};

/// Called before a failure is looked up.
inline void look_for_late_failures() noexcept {
    if (auto* const find = find_late_failures.load(std::memory_order_acquire)) [[unlikely]]
        find();
}

}  // namespace heddle::detail
