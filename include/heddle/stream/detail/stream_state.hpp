// The part of a stream's state that inline code reads. It determines the cost of calls with a named
// stream.
#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/device/device.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

class Backend;

/// Reasons to leave the fast path. Any bit of `slow_submit` directs a submission to admit_slowly();
/// any bit of `slow_order` directs a wait to its slow path.
namespace stream_flag {
inline constexpr std::uint32_t dead = 1u << 0;      ///< destroyed, moved from, or never a stream
inline constexpr std::uint32_t poisoned = 1u << 1;  ///< its work failed: later work is dropped
inline constexpr std::uint32_t forked = 1u << 2;    ///< belongs to the parent process
/// The stream has work whose failure becomes known late, such as host functions.
inline constexpr std::uint32_t fallible = 1u << 3;
inline constexpr std::uint32_t capturing = 1u << 4;  ///< known to take part in a capture
/// Code outside heddle has the native handle, so the stream's work cannot be counted.
inline constexpr std::uint32_t handed_out = 1u << 5;
/// A branch of fork_join. The stream that it was joined into reports its failure.
inline constexpr std::uint32_t internal = 1u << 6;
/// A capture or a batch of heddle's records its submissions.
inline constexpr std::uint32_t recording = 1u << 7;

/// Only set in addition to `recording`: the recorder is a capture, not a batch.
inline constexpr std::uint32_t captured = 1u << 8;

/// Only set in addition to `recording`: the recorder is a batch that began on another stream, where
/// the work runs.
inline constexpr std::uint32_t joined = 1u << 10;

/// Only set in addition to `dead`: no submission is pending any more.
inline constexpr std::uint32_t ended = 1u << 9;

/// Code outside heddle has been lent the native handle, so it may have wrapped the handle.
inline constexpr std::uint32_t lent = 1u << 11;
/// The number of open loans of the native handle, in the upper 16 bits (core/stream/lend.hpp). Work
/// that has been enqueued during a loan is counted at the end of the loan.
inline constexpr std::uint32_t one_loan = 1u << 16;
inline constexpr std::uint32_t lending = ~(one_loan - 1);
/// The stream may have work that is not counted in `submissions`.
inline constexpr std::uint32_t unseen = handed_out | lending;

inline constexpr std::uint32_t slow_submit = dead | poisoned | forked | fallible | recording;
inline constexpr std::uint32_t slow_order = slow_submit | capturing | unseen;
}  // namespace stream_flag

/// The state of one stream. It has a stable address and is never freed, so that a StreamRef that
/// outlives its stream finds `dead` set instead of freed memory.
struct StreamState {
    void* native = nullptr;  ///< cudaStream_t, or the CPU backend's queue
    Backend* backend = nullptr;
    Device device = Access::device(DeviceKind::cpu, 0);
    unsigned processors = 1;  ///< of the device; determines how wide a launch is spread
    std::atomic<std::uint32_t> flags{stream_flag::dead};
    /// Identifies this stream and is never reused: its id and the slot of its record, in one word.
    /// 0: never a stream.
    std::atomic<std::uint64_t> key{0};
    /// The number of submissions. Incremented after the work has been enqueued. A wait counts as a
    /// submission. On a GPU stream, so does an allocation of new memory from the driver's pool.
    /// Reused memory of the stream does not count, nor does a record.
    std::atomic<std::uint64_t> submissions{0};
};

/// Returns the state of StreamRefs that refer to no stream.
StreamState& null_stream() noexcept;

/// The required handling of a submission, returned by admit().
enum class Admission : std::uint8_t {
    dropped,   ///< drop it: the stream has failed
    enqueued,  ///< enqueue it on the stream
    recorded,  ///< let a capture or batch record it; if none does, enqueue it
};

/// Slow path of admit() (core/stream/submit.hpp). Throws for dead and forked streams and lost
/// devices.
Admission admit_slowly(StreamState& stream, const char* call, Where where);

inline void count_submission(StreamState& stream) noexcept {
    stream.submissions.fetch_add(1, std::memory_order_release);
}

}  // namespace detail
}  // namespace heddle
