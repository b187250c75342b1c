#include <algorithm>
#include <vector>

#include "core/registry.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

CompletionRef final_of(StreamRecord& stream) noexcept {
    return stream.final_event != nullptr ? *static_cast<CompletionRef*>(stream.final_event) : CompletionRef();
}

void set_final(StreamRecord& stream, CompletionRef done) {
    stream.final_event = new CompletionRef(std::move(done));
}

CompletionRef take_final(StreamRecord& stream) noexcept {
    const auto kept = std::unique_ptr<CompletionRef>(
        static_cast<CompletionRef*>(std::exchange(stream.final_event, nullptr)));
    return kept != nullptr ? *kept : CompletionRef();
}

void CpuBackend::open_stream(StreamRecord& stream, const SourceLocation&) {
    stream.priority = std::clamp(stream.priority, 1 - levels, 0);
    auto* const queue = new Queue(stream, levels - 1 + stream.priority);
    const std::lock_guard lock(stream.life);  // others look at all streams of a device
    stream.native = queue;
}

void CpuBackend::close_stream(StreamRecord& stream) noexcept {
    CompletionRef done = make_completion();
    Queue& queue = queue_of(stream);
    {
        const std::lock_guard lock(stream.life);
        set_final(stream, done);
    }
    queue.push_retire(std::move(done));  // outside the lock: an idle queue ends at once, on this thread
}

CompletionRef pending_work(StreamRecord& stream) {
    if (stream.has(stream_flag::forked)) return {};  // not even its lock can be trusted
    const std::lock_guard lock(stream.life);
    if (stream.native == nullptr) return {};
    if (stream.final_event != nullptr) return final_of(stream);
    Queue& queue = queue_of(stream);
    if (queue.is_idle()) return {};
    CompletionRef done = make_completion();
    queue.push_signal(done, false);
    return done;
}

void wait_for(Queue* queue, Completion& done) {
    if (queue != nullptr) queue->help(done);
    block_until(done);
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

void CpuBackend::synchronize_device(int device, const SourceLocation&) {
    std::vector<CompletionRef> pending;
    for_each_stream([&](StreamRecord& stream) {
        if (stream.device == Device::unchecked(DeviceKind::cpu, device))
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
