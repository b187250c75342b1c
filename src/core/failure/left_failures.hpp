// What streams that ended with a failure leave to the arrays that they should have written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/failure/failure.hpp"
#include <heddle/device/device.hpp>

namespace heddle::detail {

/// Their number is bounded, so that a program whose streams fail for ever does not grow. Beyond it
/// the oldest one is forgotten.
constexpr std::size_t most_failures_left = 256;

/// What one stream leaves. The stream makes it when it begins, so that ending takes no memory.
struct LeftFailure {
    std::uint64_t key = 0;  ///< StreamState::key, which the arrays keep
    Device device = Access::device(DeviceKind::cpu, 0);
    /// A copy, which is told to nobody by itself: the stream's own goes its way (failure.hpp).
    Failure failure;
    std::weak_ptr<const FailedWork> origin;
    std::unique_ptr<LeftFailure> older;
};

/// How many there are.
inline constinit std::atomic<std::size_t> failures_left{0};

/// Call it before a stream that went at the moment `gone_at` lets go of its failure, with null if
/// it has none. Thread-safe, as the rest.
void leave_failure(std::unique_ptr<LeftFailure>& made, std::uint64_t key, Device device,
                   std::uint64_t gone_at, const Failure& failure) noexcept;
/// Returns whether the failure of a stream of the device that went at `gone_at` has been cleared
/// since.
bool is_void(const FailedWork& failure, Device device, std::uint64_t gone_at) noexcept;
/// Returns what the stream with this key left, or null.
Failure find_failure_left(std::uint64_t key) noexcept;
inline Failure failure_left_by(std::uint64_t key) noexcept {
    if (failures_left.load(std::memory_order_acquire) == 0) [[likely]]
        return nullptr;
    return find_failure_left(key);
}

/// For clear_error(): forgets the failure where streams that have gone left it, or will.
void forget_failure_left(const Failure& cleared) noexcept;
/// For clear_errors(): forgets all that streams of the device left, and what those that have gone
/// by now will leave.
void forget_failures_left(Device device) noexcept;

}  // namespace heddle::detail
