// A log of calls of a backend.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle_test {

/// The functions of Backend, in the order of its declaration.
enum class SeamCall : std::uint8_t {
    // clang-format off
    device_count, unavailable_reason, describe, free_memory, can_access_peer, can_access_pool,
    concurrent_queues, peer_reachable, set_access, has_access, pool_usage, reset_pool_high_water,
    pool_release_threshold, set_pool_release_threshold, trim_pool, preload,
    reserve_streams, open_stream, close_stream, synchronize_stream, is_stream_complete, position,
    reached, synchronize_device, capture_id, reset_failure,
    wait_stream, open_event, close_event, forget_record, record, wait, is_event_complete,
    synchronize_event, elapsed_ms, failure_of, export_event, import_event,
    signal, completion_of, wait_completion, signal_use, wait_use, synchronize_use, finish_enqueues,
    count_native, ask_progress, count_steps, look, list_shared_waits, worker_count,
    enqueue, launch, launch_timed, check_grid, copy, fill,
    instantiate, capture_foreign,
    allocate, free, allocate_pinned, free_pinned, allocate_shared, export_shared, import_shared,
    free_shared, tell_ended_runs, begin_records, end_records, record_counts, classify,
    poll_outstanding, help_at_exit, after_fork, register_host, unregister_host,
    // clang-format on
    count_,
};
inline constexpr std::size_t seam_calls = static_cast<std::size_t>(SeamCall::count_);

/// A bounded log of calls. Takes no lock and no memory, so that any thread can use it at any time,
/// even in the child of a fork. Thread-safe.
class CallLog {
public:
    /// The number of calls that the log keeps.
    static constexpr std::size_t capacity = 4096;

    void add(SeamCall call, std::uint64_t stream_id) noexcept;
    /// Returns the number of calls of a function since the start of the program.
    std::uint64_t count(SeamCall call) const noexcept;
    /// Returns the newest calls with this stream, at most `capacity`, the oldest first.
    std::vector<SeamCall> newest(std::uint64_t stream_id) const;

private:
    std::array<std::atomic<std::uint64_t>, seam_calls> counts_{};
    std::array<std::atomic<std::uint64_t>, capacity> entries_{};  ///< stream id, and call + 1
    std::atomic<std::size_t> added_{0};
};

}  // namespace heddle_test
