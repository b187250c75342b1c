// The part of a stream's state that inline code reads: what a call with a named stream costs is decided here.
#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/device.hpp>

namespace heddle::detail {

class Backend;

/// Reasons to leave the fast path. Any bit of `slow_submit` sends a submission to admit_slowly(), any bit of
/// `slow_order` sends a wait to the careful version.
namespace stream_flag {
inline constexpr std::uint32_t dead = 1u << 0;      ///< destroyed, moved from, or never a stream
inline constexpr std::uint32_t poisoned = 1u << 1;  ///< its work failed: later work is dropped
inline constexpr std::uint32_t forked = 1u << 2;    ///< belongs to the parent process
inline constexpr std::uint32_t fallible = 1u
                                          << 3;  ///< depends on host functions whose failure is learnt late
inline constexpr std::uint32_t capturing = 1u << 4;  ///< known to take part in a capture
inline constexpr std::uint32_t handed_out =
    1u << 5;  ///< others hold the native handle: its work cannot be counted
inline constexpr std::uint32_t internal =
    1u << 6;  ///< a branch of fork_join: its failure is reported by what it was joined into
inline constexpr std::uint32_t recording =
    1u << 7;  ///< what it is given is recorded, by a capture or a batch of heddle's

inline constexpr std::uint32_t captured = 1u << 8;  ///< beside `recording`: by a capture, not by a batch

/// Beside `recording`: by a batch that began on another stream, so that its work runs there.
inline constexpr std::uint32_t joined = 1u << 10;

/// Beside `dead`: nothing that it was given is pending any more.
inline constexpr std::uint32_t ended = 1u << 9;

inline constexpr std::uint32_t slow_submit = dead | poisoned | forked | fallible | recording;
inline constexpr std::uint32_t slow_order = slow_submit | capturing | handed_out;
}  // namespace stream_flag

/// One per stream, at a stable address, never given back to the operating system: a StreamRef that outlives its
/// stream finds `dead` set, not freed memory.
struct StreamState {
    void* native = nullptr;  ///< cudaStream_t, or the CPU backend's queue
    Backend* backend = nullptr;
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    unsigned processors = 1;  ///< of the device: how wide a launch should spread
    std::atomic<std::uint32_t> flags{stream_flag::dead};
    /// Names this stream for good, in one word: its id, and where its record is. 0: never a stream.
    std::atomic<std::uint64_t> key{0};
    /// Grows after each piece of work (a wait counts, a record does not) has been given to the stream.
    std::atomic<std::uint64_t> submissions{0};
};

/// What stands behind StreamRefs that refer to nothing.
StreamState& null_stream() noexcept;

/// What becomes of a submission.
enum class Admission : std::uint8_t {
    dropped,  ///< the stream is poisoned: silently nothing
    given,    ///< to the stream
    recorded,  ///< to what records the stream, by a function that may still answer "give it to the stream after all"
};

/// Cold half of every submission's check. Throws for dead and forked streams and lost devices.
Admission admit_slowly(StreamState& stream, const char* call, SourceLocation where);

/// Throws what a failed CUDA kernel launch means, and marks the device lost where it is. `code` is a cudaError_t.
[[noreturn]] void throw_launch_failed(StreamState& stream, const char* pretty, int code,
                                      SourceLocation where);

[[noreturn]] void throw_too_many_indices(SourceLocation where);

inline Admission admit(StreamState& stream, const char* call, const SourceLocation& where) {
    if ((stream.flags.load(std::memory_order_relaxed) & stream_flag::slow_submit) == 0) [[likely]]
        return Admission::given;
    return admit_slowly(stream, call, where);
}

inline void count_submission(StreamState& stream) noexcept {
    stream.submissions.fetch_add(1, std::memory_order_release);
}

}  // namespace heddle::detail
