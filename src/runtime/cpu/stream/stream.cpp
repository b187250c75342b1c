// Opens, closes and waits for CPU streams.
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu/device/backend.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

void CpuBackend::open_stream(StreamRecord& stream, const SourceLocation&) {
    const int priority = std::clamp(stream.priority.load(), 1 - levels, 0);
    stream.priority.store(priority);
    // Starts the workers now, because starting them can fail, and later calls must not fail.
    (void)executor();
    auto queue = std::make_unique<Queue>(stream, levels - 1 + priority);
    const std::lock_guard life(stream.life);  // other threads visit all streams of a device
    stream.native = queue.release();
}

void CpuBackend::close_stream(StreamRecord& stream) noexcept {
    Queue& queue = queue_of(stream);
    {
        const std::lock_guard lock(stream.life);
        queue.begin_to_close();
        stream.final_event = &queue.final();
    }
    queue.retire();  // outside the lock: an idle queue ends immediately, on this thread
}

void CpuBackend::synchronize(StreamRecord& stream, const SourceLocation&) {
    Queue& queue = queue_of(stream);
    if (queue.is_idle()) return queue.see_idle();
    const CompletionRef done = make_completion();
    queue.push_signal(done, false);
    wait_for(*done);
}

bool CpuBackend::is_complete(StreamRecord& stream, const SourceLocation&) {
    const Queue& queue = queue_of(stream);
    if (!queue.is_idle()) return false;
    queue.see_idle();
    return true;
}

std::uint64_t CpuBackend::position(StreamRecord& stream) noexcept {
    return queue_of(stream).pushed();
}

std::uint64_t CpuBackend::reached(StreamRecord& stream) noexcept {
    const Queue& queue = queue_of(stream);
    const std::uint64_t done = queue.done();
    queue.see_idle();
    return done;
}

bool CpuBackend::finish_enqueues(StreamRecord& stream) noexcept {
    queue_of(stream).finish_pushes();
    return true;
}

void CpuBackend::count_native(StreamRecord& stream) noexcept {
    queue_of(stream).count_submission();
}

// A single step in stream order clears the failure. Work enqueued concurrently is ordered before or
// after that step, so no failure is half cleared.
Failure CpuBackend::reset_failure(StreamRecord& stream, std::uint64_t, const SourceLocation&) {
    if (!stream.has(stream_flag::poisoned)) return nullptr;
    const CompletionRef done = make_completion();
    Queue* idle = nullptr;
    {
        const std::lock_guard lock(stream.life);
        Queue* const queue = open_queue(stream);
        if (queue == nullptr) return nullptr;
        if (queue->add_recover(done)) idle = queue;
    }
    if (idle != nullptr) idle->advance();
    wait_for(*done);
    CompletionRef ordered_end;  // of a batch that failed; destroyed without holding the lock
    {
        const std::lock_guard lock(stream.life);
        ordered_end = std::move(stream.ordered_end);
    }
    return done->failure();
}

}  // namespace heddle::detail::cpu
