// Opens, closes and waits for CPU streams; enqueues work.
#include <algorithm>
#include <vector>

#include "core/observe/calls.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

void CpuBackend::open_stream(StreamRecord& stream, const SourceLocation&) {
    const int priority = std::clamp(stream.priority.load(), 1 - levels, 0);
    stream.priority.store(priority);
    // Starts the workers now: this can fail if out of memory, and later calls must not fail.
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
    queue.retire();  // outside the lock: an idle queue ends at once, on this thread
}

namespace {
/// Returns the stream's queue, or null once its owner has closed it. Call with StreamRecord::life
/// held.
Queue* open_queue(StreamRecord& stream) noexcept {
    return stream.native != nullptr && stream.final_event == nullptr ? &queue_of(stream) : nullptr;
}
}  // namespace

CompletionRef pending_work(const StreamUse& use) {
    StreamRecord& stream = *use.stream;
    // A stream of the parent process: even its lock may be held for ever.
    if (stream.has(stream_flag::forked)) return {};
    CompletionRef done = make_completion();
    Queue* idle = nullptr;
    {
        const std::lock_guard lock(stream.life);
        if (!use.is_same() || stream.native == nullptr) {
            tsan::acquire(stream.end_of_work());
            return {};
        }
        Queue* const queue = open_queue(stream);
        if (queue == nullptr) return *static_cast<CompletionRef*>(stream.final_event);  // closed
        // Under ThreadSanitizer the caller must not be ordered after that work, because it may be
        // asking about another stream.
        if (queue->is_idle() && !stream.has(stream_flag::poisoned) && queue->fibers() == nullptr)
            return {};
        if (queue->add_signal(done)) idle = queue;
    }
    if (idle != nullptr) idle->advance();
    return done;
}

void CpuBackend::synchronize_use(const StreamUse& use, const SourceLocation&) {
    if (const CompletionRef done = pending_work(use)) wait_for(*done);
}

bool CpuBackend::help_at_exit(const Completion& done) noexcept {
    // The workers are ending. A worker that still runs an operation may leave work behind, so the
    // caller polls this.
    Executor* const closed = executor_if_made();
    if (closed == nullptr || !closed->is_closed()) return false;
    while (!done.is_done() && closed->run_one()) {}
    return true;
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

void CpuBackend::synchronize_device(int device, const SourceLocation&) {
    std::vector<CompletionRef> pending;
    for_each_stream([&](StreamRecord& stream) {
        if (stream.device == Access::device(DeviceKind::cpu, device))
            if (CompletionRef done = pending_work({&stream, stream.id.load()}))
                pending.push_back(std::move(done));
    });
    for (const CompletionRef& done : pending) {
        wait_for(*done);
        // The worker may release a closed stream's last completion after this function has
        // returned.
        const Failure failure = done->failure();
        const bool is_ours = failure.use_count() == 2;  // the second owner is `done`
        if (failure != nullptr && is_ours) report_untold(*failure);
    }
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
    CompletionRef settled;  // of a batch that failed; destroyed without the lock
    {
        const std::lock_guard lock(stream.life);
        settled = std::move(stream.settled);
    }
    return done->failure();
}

namespace {
void push_timed(TimeWish wish, StreamRecord& stream, const OpType& type, void* self,
                std::size_t count, const SourceLocation& where) {
    Queue& queue = queue_of(stream);
    while (!queue.push_timed_unless_joined(wish, type, self, count, where))
        if (!make_way(stream, where)) return queue.push(Step::work, type, self, count, where, true);
}

void push_untimed(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                  const SourceLocation& where) {
    Queue& queue = queue_of(stream);
    while (!queue.push_unless_joined(type, self, count, where)) [[unlikely]]
        if (!make_way(stream, where)) return queue.push(Step::work, type, self, count, where, true);
}
}  // namespace

void push_work(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
               const SourceLocation& where) {
    if (const std::uint64_t id = function_id(); id != 0) [[unlikely]] {
        const bool is_timed = timed_id() != 0;
        if (is_timed || type.is_host_function())
            return push_timed({id, is_timed}, stream, type, self, count, where);
    }
    push_untimed(stream, type, self, count, where);
}

void CpuBackend::enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                         const SourceLocation& where) {
    push_work(stream, type, self, count, where);
}

void CpuBackend::launch(StreamRecord& stream, const LaunchCall& call) {
    push_untimed(stream, *call.type.op, call.closure, call.count, call.where);
}

void CpuBackend::launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t id) {
    push_timed({id, true}, stream, *call.type.op, call.closure, call.count, call.where);
}

}  // namespace heddle::detail::cpu
