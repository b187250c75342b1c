#include <algorithm>
#include <vector>

#include "core/registry.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

void CpuBackend::open_stream(StreamRecord& stream, const SourceLocation&) {
    stream.priority = std::clamp(stream.priority, 1 - levels, 0);
    (void)
        executor();  // started now, because there can be too little memory for it: later calls must not fail
    stream.native = new Queue(stream, levels - 1 + stream.priority);
}

void CpuBackend::close_stream(StreamRecord& stream) noexcept {
    Queue& queue = queue_of(stream);
    {
        const std::lock_guard lock(stream.life);
        stream.final_event = &queue.final();
    }
    queue.retire();  // outside the lock: an idle queue ends at once, on this thread
}

CompletionRef pending_work(StreamRecord& stream) {
    if (stream.has(stream_flag::forked)) return {};  // not even its lock can be trusted
    const std::lock_guard lock(stream.life);
    if (stream.native == nullptr) return {};
    if (stream.final_event != nullptr)
        return *static_cast<CompletionRef*>(stream.final_event);  // it is closed
    Queue& queue = queue_of(stream);
    if (queue.is_idle()) return {};
    CompletionRef done = make_completion();
    queue.push_signal(done, false);
    return done;
}

void wait_for(Queue* queue, Completion& done) {
    if (queue != nullptr) queue->help(done);
    // After exit() has begun there are no workers: what is waited for has to run here.
    while (executor().is_closed() && !done.is_done())
        if (!executor().run_one()) break;
    block_until(done);
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

void CpuBackend::synchronize_device(int device, const SourceLocation&) {
    give_back_kept();
    std::vector<CompletionRef> pending;
    for_each_stream([&](StreamRecord& stream) {
        if (stream.device == Device::unchecked(DeviceKind::cpu, device) && stream.backend == this)
            if (CompletionRef done = pending_work(stream)) pending.push_back(std::move(done));
    });
    for (const CompletionRef& done : pending) wait_for(nullptr, *done);
}

void CpuBackend::reset_failure(StreamRecord& stream, const SourceLocation& where) {
    queue_of(stream).push_recover();
    synchronize(stream, where);
}

void CpuBackend::enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                         const SourceLocation& where) {
    queue_of(stream).push(Step::work, type, self, count, where, true);
}

}  // namespace heddle::detail::cpu
