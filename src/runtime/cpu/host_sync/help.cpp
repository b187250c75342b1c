#include "cpu/host_sync/help.hpp"

#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "cpu/executor/slice.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

namespace {

/// Runs the ready work before a completion. Follows one chain of waits at a time: from the
/// completion to the stream that will complete it, then to the completion for which this stream
/// waits, and so on.
class Help final : public WhileBlocked {
public:
    explicit Help(Completion& until) noexcept : until_(until) {}

    /// Runs work until no work is ready, `until_` has completed, or other work takes precedence.
    /// Returns how long to pause before the next call.
    std::chrono::milliseconds run() noexcept override;
    /// Returns the last completion of the path, or `until_` if the path is empty.
    CompletionRef next() const noexcept { return CompletionRef(&top()); }

private:
    enum class Found : std::uint8_t { some, nothing, others_first };
    /// Runs ready work, or extends the path.
    Found go_on(bool insists);
    Completion& top() const noexcept { return path_.empty() ? until_ : *path_.back(); }

    Completion& until_;
    /// The stream that will complete `until_` waits for path_[0]. The stream that will complete
    /// path_[i] waits for path_[i + 1].
    std::vector<CompletionRef> path_;
    bool has_yielded_ = false;
};

// The pause between two attempts. Attempts are repeated because the awaited work may become ready
// while all workers are busy.
constexpr std::chrono::milliseconds usual_pause{100};
constexpr auto one_turn =
    std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(Slice::ns));

std::chrono::milliseconds Help::run() noexcept {
    // If the last run() yielded to other work for a turn, the queue may still have no worker.
    bool insists = std::exchange(has_yielded_, false);
    for (;;) {
        while (!path_.empty() && path_.back()->is_done()) path_.pop_back();
        if (top().is_done()) return usual_pause;
        Found found = Found::nothing;
        try {
            found = go_on(std::exchange(insists, false));
        } catch (const std::bad_alloc&) {
            // Out of memory: waits for the last completion of the path.
        }
        if (found == Found::nothing) return usual_pause;
        if (found == Found::others_first) {
            has_yielded_ = true;
            return one_turn;
        }
    }
}

Help::Found Help::go_on(bool insists) {
    Completion& next = top();
    StreamRecord* const by = next.promised_by();
    if (by == nullptr || by->has(stream_flag::forked)) return Found::nothing;
    Queue* queue = nullptr;
    StreamRun* run = nullptr;
    CompletionRef awaited;
    bool is_awaited = false;
    {
        const std::lock_guard life(by->life);
        if (next.is_done()) return Found::some;
        // The stream keeps its queue while `next` is pending. Once unschedule() has removed the
        // queue from the executor's lists, the queue cannot end.
        if (by->native == nullptr) return Found::nothing;
        Queue& all = queue_of(*by);
        if (executor().unschedule(all)) queue = &all;
        else run = all.take_run();
        if (queue == nullptr && run == nullptr) is_awaited = all.hold_awaited(awaited);
    }
    if (queue != nullptr) return queue->drain(&next, insists) ? Found::some : Found::others_first;
    if (run != nullptr) return run->take_part() ? Found::some : Found::others_first;
    if (!is_awaited) return Found::nothing;             // another thread runs the stream's work
    if (awaited->is_done()) std::this_thread::yield();  // the stream is about to continue
    else path_.push_back(std::move(awaited));
    return Found::some;
}

}  // namespace

void wait_for(Completion& done) {
    Help help(done);
    std::chrono::milliseconds pause = help.run();
    while (!done.is_done()) {
        const CompletionRef next = help.next();
        block_until(*next, help, pause);
        pause = help.run();
    }
    done.see();
}

}  // namespace heddle::detail::cpu
