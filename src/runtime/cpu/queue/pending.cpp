// Finds the work that is pending on a stream. Another thread may be closing the stream.
#include <mutex>
#include <utility>

#include "core/stream/recorded_calls.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

Queue* open_queue(StreamRecord& stream) noexcept {
    return stream.native != nullptr && stream.final_event == nullptr ? &queue_of(stream) : nullptr;
}

CompletionRef pending_work(const StreamUse& use) {
    StreamRecord& stream = *use.stream;
    // The stream belongs to the parent process: even its lock may be held forever.
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
        // Not used under ThreadSanitizer: it would order the calling thread after that work,
        // although the query may be on behalf of another stream.
        if (queue->is_idle() && !stream.has(stream_flag::poisoned) && queue->fibers() == nullptr)
            return {};
        if (queue->add_signal(done)) idle = queue;
    }
    if (idle != nullptr) idle->advance();
    return done;
}

void push_wait(StreamRecord& waiter, CompletionRef done, const SourceLocation& where) {
    Queue& queue = queue_of(waiter);
    while (!queue.push_wait_unless_joined(done, where)) [[unlikely]]
        if (!make_way(waiter, where)) return queue.push_wait(std::move(done), where);
}

}  // namespace heddle::detail::cpu
