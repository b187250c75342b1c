// The failing part of a stream: its flags, its WorkOutcome, and how failures propagate between
// streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/failure/left_failures.hpp"
#include "core/failure/work_outcome.hpp"
#include <heddle/stream/detail/stream_state.hpp>

namespace heddle::detail {

/// The part of a stream's record that concerns failures.
struct FallibleStream : StreamState {
    std::atomic<std::uint64_t> id{0};  ///< changes when the record becomes another stream's

    /// Guards `outcome` and flag `poisoned`, which is set if `outcome` is known to have a failure.
    std::mutex failure_mutex;
    std::shared_ptr<WorkOutcome> outcome = std::make_shared<WorkOutcome>();
    /// Reserved for renew_outcome(), so that ending a stream takes no memory. Accessed only by the
    /// threads that begin or end the stream.
    std::shared_ptr<WorkOutcome> next_outcome;
    std::unique_ptr<LeftFailure> next_left;  ///< reserved in the same way for leave_failure()

    /// The moment (failure.hpp) at which the stream was closed, or returned to a pool or a
    /// fork_join for reuse. 0 while it is in use.
    std::atomic<std::uint64_t> gone_at{0};
    /// The moment at which a failure of this stream was last cleared. 0 if none was.
    std::atomic<std::uint64_t> cleared_at{0};
    void note_gone() noexcept {
        std::uint64_t here = 0;
        gone_at.compare_exchange_strong(here, next_moment(), std::memory_order_acq_rel);
    }
    void note_back() noexcept { gone_at.store(0, std::memory_order_release); }

    bool has(std::uint32_t flag) const noexcept {
        return (flags.load(std::memory_order_acquire) & flag) != 0;
    }
    void set(std::uint32_t flag) noexcept { flags.fetch_or(flag, std::memory_order_release); }
    void clear(std::uint32_t flag) noexcept { flags.fetch_and(~flag, std::memory_order_release); }

    std::shared_ptr<WorkOutcome> current_outcome() noexcept;
    /// Returns current_outcome() if earlier work of the stream may still fail, else null. On CPU
    /// devices, it may always fail; on CUDA devices, only if flag `poisoned` or `fallible` is set.
    std::shared_ptr<WorkOutcome> fallible_outcome() noexcept;
    /// Sets the stream's failure unless it has one already. `at` is the submission that failed.
    void poison(const Failure& reason, std::uint64_t at) noexcept;
    /// Returns the failure, own or inherited through dependencies. Returns null if none is known.
    Failure known_failure() noexcept { return failure_up_to(~std::uint64_t{0}); }
    /// Returns the failure if it affects the first `submissions` submissions, else null.
    Failure failure_up_to(std::uint64_t submissions) noexcept;
    /// Drops the dependencies of the first `submissions` submissions: they have completed and did
    /// not fail.
    void forget_dependencies(std::uint64_t submissions);
    /// Notes that this stream waited for the first `submissions` submissions of `other`, and
    /// inherits the dependencies of `other`. Has no effect if the record `other` no longer belongs
    /// to stream `other_id`. Has no effect on CPU devices: there the wait itself passes the failure
    /// on, in stream order.
    void depend_on(FallibleStream& other, std::uint64_t other_id, std::uint64_t submissions);
    void depend_on(const std::shared_ptr<WorkOutcome>& other, std::uint64_t submissions);
    /// Clears the failure and returns it, or null if none is known. The first `submissions`
    /// submissions must have completed. Later work gets the outcome `next`.
    Failure take_failure(std::uint64_t submissions, std::shared_ptr<WorkOutcome> next);
    /// Reserves the objects for renew_outcome(). Call it before the stream begins.
    void prepare_outcome();
    /// Replaces the outcome before the record is reused; the stream's work must have completed.
    /// Holders of the old outcome keep it, and arrays that the stream used find its failure
    /// (left_failures.hpp). Takes no memory after prepare_outcome(). Returns false if it needs
    /// memory and there is none.
    bool renew_outcome() noexcept;
};

}  // namespace heddle::detail
