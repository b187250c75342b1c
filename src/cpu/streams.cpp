#include <algorithm>
#include <vector>

#include "core/recorder.hpp"
#include "core/registry.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

void CpuBackend::open_stream(StreamRecord& stream, const SourceLocation&) {
    stream.priority = std::clamp(stream.priority, 1 - levels, 0);
    (void)
        executor();  // started now, because there can be too little memory for it: later calls must not fail
    auto queue = std::make_unique<Queue>(stream, levels - 1 + stream.priority);
    const std::lock_guard life(stream.life);  // others look at all streams of a device
    stream.native = queue.release();
}

void CpuBackend::close_stream(StreamRecord& stream) noexcept {
    Queue& queue = queue_of(stream);
    {
        const std::lock_guard lock(stream.life);
        stream.final_event = &queue.final();
    }
    queue.retire();  // outside the lock: an idle queue ends at once, on this thread
}

namespace {
/// The stream's queue while its owner has not closed it; null otherwise. Under StreamRecord::life.
Queue* open_queue(StreamRecord& stream) noexcept {
    return stream.native != nullptr && stream.final_event == nullptr ? &queue_of(stream) : nullptr;
}
}  // namespace

CompletionRef pending_work(const StreamUse& use) {
    StreamRecord& stream = *use.stream;
    if (stream.has(stream_flag::forked)) return {};  // not even its lock can be trusted
    CompletionRef done = make_completion();
    Queue* idle = nullptr;
    {
        const std::lock_guard lock(stream.life);
        if (!use.is_same() || stream.native == nullptr) return {};
        Queue* const queue = open_queue(stream);
        if (queue == nullptr) return *static_cast<CompletionRef*>(stream.final_event);  // it is closed
        if (queue->is_idle() && !stream.has(stream_flag::poisoned)) return {};
        if (queue->add_signal(done)) idle = queue;
    }
    if (idle != nullptr) idle->advance();
    return done;
}

void wait_for(Queue* queue, Completion& done) {
    if (queue != nullptr) queue->help(done);
    block_until(done);
}

// The stream can be destroyed meanwhile, or long since: its queue is only looked at under the lock without which it does not go, and
// once taken it cannot go.
void wait_for(const StreamUse& use, Completion& done) {
    Queue* taken = nullptr;
    {
        const std::lock_guard life(use.stream->life);
        if (use.is_same() && use.stream->native != nullptr && queue_of(*use.stream).take())
            taken = &queue_of(*use.stream);
    }
    if (taken != nullptr) taken->drain(&done);
    wait_for(static_cast<Queue*>(nullptr), done);
}

void CpuBackend::synchronize_use(const StreamUse& use, const SourceLocation&) {
    if (const CompletionRef done = pending_work(use)) wait_for(use, *done);
}

bool CpuBackend::help_at_exit(const Completion& done) noexcept {
    // There are no workers any more. One that still runs something may leave work behind when it ends: asked for again and again.
    Executor* const closed = executor_if_made();
    if (closed == nullptr || !closed->is_closed()) return false;
    while (!done.is_done() && closed->run_one()) {}
    return true;
}

void CpuBackend::synchronize(StreamRecord& stream, const SourceLocation&) {
    Queue& queue = queue_of(stream);
    if (queue.is_idle()) return;
    const CompletionRef done = make_completion();
    queue.push_signal(done, false);
    wait_for(&queue, *done);
}

bool CpuBackend::is_complete(StreamRecord& stream, const SourceLocation&) {
    return queue_of(stream).is_idle();
}

Failure CpuBackend::synchronize_device(int device, const SourceLocation&) {
    give_back_kept();
    std::vector<CompletionRef> pending;
    for_each_stream([&](StreamRecord& stream) {
        if (stream.device == Device::unchecked(DeviceKind::cpu, device))
            if (CompletionRef done = pending_work({&stream, stream.id.load()}))
                pending.push_back(std::move(done));
    });
    Failure untold;
    for (const CompletionRef& done : pending) {
        wait_for(static_cast<Queue*>(nullptr), *done);
        if (untold == nullptr && done->failure() != nullptr && !done->failure()->is_told())
            untold = done->failure();
    }
    return untold;
}

// One step in stream order forgets it, on whatever thread: what another thread gives the stream meanwhile fails before that or after, and no failure
// is half forgotten.
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
    wait_for(static_cast<Queue*>(nullptr), *done);
    return done->failure();
}

void push_work(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
               const SourceLocation& where) {
    Queue& queue = queue_of(stream);
    while (!queue.push_unless_joined(type, self, count, where))
        if (!make_way(stream, where)) return queue.push(Step::work, type, self, count, where, true);
}

void CpuBackend::enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                         const SourceLocation& where) {
    push_work(stream, type, self, count, where);
}

}  // namespace heddle::detail::cpu
