// Failures that ended streams leave to the arrays that they should have written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/failure/failure.hpp"
#include <heddle/device/device.hpp>

namespace heddle::detail {

/// The limit of stored failures. Beyond it the oldest failure is dropped, so that a program whose
/// streams fail for ever does not grow.
constexpr std::size_t most_failures_left = 256;

/// The failure that one stream leaves. Made when the stream begins, so that ending takes no memory.
struct LeftFailure {
    std::uint64_t key = 0;  ///< StreamState::key, which the arrays keep
    Device device = Access::device(DeviceKind::cpu, 0);
    /// A copy, which is not reported to the user because the original is (failure.hpp).
    Failure failure;
    std::weak_ptr<const FailedWork> origin;
    std::unique_ptr<LeftFailure> older;
};

/// The number of failures that are stored now.
inline constinit std::atomic<std::size_t> failures_left{0};

/// Leaves a stream's failure to the stream's arrays. The stream was closed at the moment `gone_at`.
/// `failure` is null if it has none. Call before the stream drops the failure. Thread-safe, like
/// the functions below.
void leave_failure(std::unique_ptr<LeftFailure>& made, std::uint64_t key, Device device,
                   std::uint64_t gone_at, const Failure& failure) noexcept;
/// Returns whether the failure of a stream has been cleared since the stream was closed, at the
/// moment `gone_at`.
bool is_void(const FailedWork& failure, Device device, std::uint64_t gone_at) noexcept;
/// Returns the failure that the stream with this key left, or null.
Failure find_failure_left(std::uint64_t key) noexcept;
inline Failure failure_left_by(std::uint64_t key) noexcept {
    if (failures_left.load(std::memory_order_acquire) == 0) [[likely]]
        return nullptr;
    return find_failure_left(key);
}

/// For clear_error(): removes the failure wherever closed streams left it. Also prevents closed
/// streams from leaving it later.
void forget_failure_left(const Failure& cleared) noexcept;
/// For clear_errors(): removes all failures that streams of the device left. Also prevents streams
/// that are closed now from leaving failures later.
void forget_failures_left(Device device) noexcept;

}  // namespace heddle::detail
