#include "core/failure/fallible_stream.hpp"

#include <utility>

#include "core/failure/late_failures.hpp"

namespace heddle::detail {

std::shared_ptr<WorkOutcome> FallibleStream::current_outcome() noexcept {
    const std::lock_guard lock(failure_mutex);
    return outcome;
}

std::shared_ptr<WorkOutcome> FallibleStream::fallible_outcome() noexcept {
    if (device.is_cuda() && !has(stream_flag::poisoned | stream_flag::fallible)) return nullptr;
    return current_outcome();
}

void FallibleStream::poison(const Failure& reason, std::uint64_t at) noexcept {
    const std::lock_guard lock(failure_mutex);
    outcome->fail(reason, at);
    // Waiters for a CUDA stream inherit failures through its outcome, but read the outcome only if
    // the stream is fallible.
    set(device.is_cuda() ? stream_flag::poisoned | stream_flag::fallible : stream_flag::poisoned);
}

Failure FallibleStream::failure_up_to(std::uint64_t up_to) noexcept {
    look_for_late_failures();
    std::shared_ptr<WorkOutcome> now;
    {
        const std::lock_guard lock(failure_mutex);
        if (outcome->is_clean()) return nullptr;
        now = outcome;
    }
    Failure failure = now->failure_up_to(up_to);
    if (failure != nullptr && !has(stream_flag::poisoned)) {
        const std::lock_guard lock(failure_mutex);
        if (outcome == now) set(stream_flag::poisoned);
    }
    return failure;
}

void FallibleStream::forget_dependencies(std::uint64_t up_to) {
    current_outcome()->forget_dependencies(up_to);
}

void FallibleStream::depend_on(FallibleStream& other, std::uint64_t other_id, std::uint64_t upto) {
    std::shared_ptr<WorkOutcome> theirs = other.current_outcome();
    if (other.id.load(std::memory_order_acquire) != other_id)
        return;  // reused for another stream: all work of the old one has completed
    if (const std::uint64_t gone = other.gone_at.load(std::memory_order_acquire); gone != 0) {
        // Work of `other` may still run, and is waited for. But a failure that was cleared is not
        // inherited.
        const Failure failure = theirs->failure_up_to(upto);
        if (failure != nullptr && is_void(*failure, other.device, gone)) return;
    }
    depend_on(theirs, upto);
}

void FallibleStream::depend_on(const std::shared_ptr<WorkOutcome>& other, std::uint64_t upto) {
    if (device.is_cpu()) return;
    const std::uint64_t now = submissions.load();
    current_outcome()->depend_on(other, upto, now);
    set(stream_flag::fallible);
}

Failure FallibleStream::take_failure(std::uint64_t done, std::shared_ptr<WorkOutcome> next) {
    Failure failure = known_failure();
    if (failure == nullptr) return nullptr;
    {
        const std::lock_guard lock(failure_mutex);
        outcome.swap(next);
        clear(stream_flag::poisoned);  // `fallible` stays: host functions may be pending
        cleared_at.store(next_moment(), std::memory_order_release);
    }
    next->end(current_outcome().get(), done);  // after the swap, `next` is the old outcome
    return failure;
}

void FallibleStream::prepare_outcome() {
    if (next_outcome == nullptr) next_outcome = std::make_shared<WorkOutcome>();
    if (next_left == nullptr) next_left = std::make_unique<LeftFailure>();
}

bool FallibleStream::renew_outcome() noexcept {
    std::shared_ptr<WorkOutcome> old;
    try {
        // known_failure() includes failures that were inherited through dependencies.
        leave_failure(next_left, key.load(std::memory_order_relaxed), device,
                      gone_at.load(std::memory_order_acquire), known_failure());
        {
            const std::lock_guard lock(failure_mutex);
            if (outcome->is_clean() && outcome.use_count() == 1) {
                outcome->begin_anew();
                return true;  // no other holder, and none can appear without the lock
            }
        }
        prepare_outcome();  // again, if another thread has shared the one made before
        const std::lock_guard lock(failure_mutex);
        old = std::exchange(outcome, std::move(next_outcome));
        clear(stream_flag::poisoned | stream_flag::fallible);
    } catch (...) {
        return false;
    }
    old->end();
    return true;
}

}  // namespace heddle::detail
