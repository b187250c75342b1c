// Drains queues. One thread at a time drains a queue, without the lock.
#include <optional>
#include <utility>

#include "core/base/host_function_mark.hpp"
#include "core/failure/failure.hpp"
#include "core/failure/told.hpp"
#include "core/operation/activity.hpp"
#include "core/operation/calls.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/registry.hpp"
#include "cpu/executor/slice.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

void Queue::run() noexcept { (void)drain(nullptr); }

void Queue::resume() noexcept { advance(); }

void Queue::advance() noexcept {
    // A signal can resume another queue, which can signal in turn. The limit keeps this recursion
    // within the stack of any thread.
    static thread_local int depth = 0;
    constexpr int deepest = 32, most = 256;
    if (depth == deepest) return executor().schedule(*this);
    ++depth;
    std::optional<Slice> slice;  // constructed only after a few steps, to avoid reading a clock
    Next next = Next::more;
    for (int i = 1; i <= most && next == Next::more; ++i) {
        next = step();
        if (i % 32 != 0 || next != Next::more) continue;
        if (!slice) slice.emplace(*this);
        else if (slice->is_over()) break;
    }
    --depth;
    if (next != Next::idle && next != Next::suspended) executor().schedule(*this);
}

void Queue::fail(Failure failure) noexcept {
    if (failure == nullptr || failed_) return;
    failed_ = true;
    stream_.poison(std::move(failure), worked_ + 1);
}

Failure Queue::failure() const { return stream_.known_failure(); }

void Queue::recover(Operation& op) noexcept {
    completing_.store(static_cast<Recovery*>(op.closure())->done.get(), std::memory_order_relaxed);
    Recovery recovery = std::move(*static_cast<Recovery*>(op.closure()));
    static_cast<Recovery*>(op.closure())->~Recovery();
    Failure forgotten;
    if (std::exchange(failed_, false))
        forgotten = stream_.take_failure(~std::uint64_t{0}, std::move(recovery.next));
    order_before(*recovery.done);
    step_over(op, recovery.done, std::move(forgotten), 0);
}

void Queue::order_before(const Completion& done) noexcept {
    if (Fiber* const own = fiber()) [[unlikely]] {
        own->acquire(done.order());  // the work of the stream that enqueued the signal
        own->release(done.order());
    }
}

/// Ends the queue. Called by the draining thread when no operation is left.
void Queue::end() noexcept {
    StreamRecord& stream = stream_;
    const CompletionRef done = final_;
    // Passes the failure to the final completion before the stream disappears. A thread that no
    // longer finds the stream can then rely on the failure being reported, or having an owner that
    // can report it.
    Failure why;
    if (failed_) {
        const std::lock_guard lock(stream.life);
        if (done.owners() > 2 || done->is_awaited())
            why = failure();  // there are owners other than `done` and the queue
    }
    (void)stream.renew_outcome();
    if (Fiber* const own = fiber()) [[unlikely]] {
        own->release(done->order());
        own->release(stream.end_of_work());
    }
    {
        const std::lock_guard lock(stream.life);
        stream.native = nullptr;
        stream.final_event = nullptr;
    }
    delete this;
    done->complete(std::move(why), 0, Completion::Told::already);
    recycle_stream(stream);
}

void Queue::step_over(Operation& op) noexcept {
    if (op.step() == Step::work || op.step() == Step::wait) ++worked_;
    head_offset_ += op.bytes();
    done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Queue::step_over(Operation& op, const CompletionRef& done, Failure failure,
                      std::int64_t time_ns) noexcept {
    step_over(op);
    done->complete(std::move(failure), time_ns, Completion::Told::already);
    completing_.store(nullptr, std::memory_order_relaxed);
    if (has_loans_.load()) [[unlikely]]
        end_loans();
}

void Queue::finish_work(Operation& op, Failure failure) noexcept {
    fail(std::move(failure));
    if (is_on_fiber(op.type())) [[unlikely]] {
        fiber()->acquire(closure_of(op));
        fiber()->destroy(op.type(), closure_of(op));
        fiber()->release(order());
    } else if (op.type().destroy != nullptr) {
        op.type().destroy(op.closure());
    }
    step_over(op);
}

bool Queue::run_work(Operation& op) noexcept {
    if (failed_ && !op.type().is_cleanup) [[unlikely]] {
        finish_work(op, nullptr);
        return true;
    }
    Failure failure;
    if (!execute(op, failure)) return false;
    finish_work(op, std::move(failure));
    return true;
}

inline bool Queue::execute(Operation& op, Failure& failure) noexcept {
    const std::size_t count = op.count();
    const InHostFunction mark;
    // Graph launches need no mark, because each task of a graph has one.
    const WorkMark work(stream_, op.type(), op.where(),
                        &op.type() == &start_type ? WorkMark::Of::none : WorkMark::Of::stream);
    Fiber* const own = is_on_fiber(op.type()) ? fiber() : nullptr;
    if (own != nullptr) [[unlikely]]
        own->acquire(closure_of(op));
    try {
        if (op.type().complete != nullptr)
            complete_on(own, op.type(), closure_of(op),
                        failed_ ? told(this->failure(), &stream_) : nullptr);
        else if (count == 1) run_on(own, op.type(), closure_of(op), 0, 1);
        else if (!run_many(op)) return false;
        if (count != 1) failure = spread_.take_failure();
    } catch (...) {
        failure = failure_of_throw(stream_, op.type(), op.where(), std::current_exception());
    }
    return true;
}

bool Queue::run_timed(Operation& wish) noexcept {
    const auto [id, is_timed] = *static_cast<const TimeWish*>(wish.closure());
    step_over(wish);
    Operation& op = next_operation();
    if (failed_ && !op.type().is_cleanup) {  // dropped, not run
        if (is_timed) notify_run({.id = id, .result = RunResult::dropped});
        return run_work(op);
    }
    const InHostFunction mark;
    const RunsOperation parent(id);
    if (op.type().is_host_function()) notify_host_function_runs(stream_, op.type(), op.where());
    if (is_timed) {
        timed_id_ = id;
        timed_from_ = now_ns();
    }
    Failure failure;
    if (!execute(op, failure)) return false;
    if (is_timed) tell_run(failure != nullptr);
    finish_work(op, std::move(failure));
    return true;
}

void Queue::tell_run(bool has_failed) noexcept {
    const int workers = std::exchange(timed_is_spread_, false) ? executor().workers() : 1;
    notify_run({.id = std::exchange(timed_id_, 0),
                .start_ns = timed_from_,
                .end_ns = now_ns(),
                .workers = static_cast<std::uint32_t>(workers),
                .result = has_failed ? RunResult::failed : RunResult::succeeded});
}

// Short kernels stay on this thread. Longer kernels are spread in subranges of at least about 5 µs.
// If a kernel was worth spreading last time, it is spread immediately. The threshold is lower while
// a worker is awake without work, because it need not be woken.
bool Queue::run_many(Operation& op) {
    constexpr double subrange_ns = 5'000;
    const double clearly_worth_ns = executor().is_anyone_looking() ? 15'000 : 50'000;
    const std::size_t count = op.count();
    const auto workers = static_cast<std::size_t>(executor().workers());
    Fiber* const own = fiber();
    void* const closure = closure_of(op);
    if (workers == 1) {
        run_on(own, op.type(), closure, 0, count);
        return true;
    }
    std::size_t done = 0;
    if (cost_.type != &op.type() || cost_.ns * static_cast<double>(count) < clearly_worth_ns) {
        cost_ = {&op.type(), 0};
        done = run_first(own, op.type(), closure, count, cost_.ns);
        if (done == count) return true;
    }
    if (!spread_.prepare()) {  // out of memory: runs the kernel on this thread
        run_on(own, op.type(), closure, done, count);
        return true;
    }
    const std::size_t range = (count - done) / workers + 1;
    const auto smallest =
        static_cast<std::size_t>(std::min(subrange_ns / cost_.ns, static_cast<double>(range)));
    timed_is_spread_ = timed_id_ != 0;  // even if this thread finishes the kernel
    if (!spread_.start(op, done, count, std::max(smallest + 1, range / 8 + 1))) return false;
    spread_.order_parts();
    learn_cost();
    return true;
}

void Queue::learn_cost() noexcept {
    if (spread_.index_ns() > 0) cost_.ns = spread_.index_ns();
}

void Queue::finish_spread() noexcept {
    spread_.order_parts();
    learn_cost();
    Failure failure = spread_.take_failure();
    if (timed_id_ != 0) tell_run(failure != nullptr);
    finish_work(next_operation(), std::move(failure));
}

bool Queue::is_done() noexcept {
    Chunk* large = nullptr;
    bool ends = false;
    {
        const std::lock_guard lock(lock_);
        if (done_.load(std::memory_order_relaxed) != pushed_.load(std::memory_order_relaxed))
            return false;
        ends = retired_;
        // An idle queue frees a chunk that was allocated for a large closure.
        if (!ends && head_ != nullptr && head_->size > ChunkPool::standard) {
            large = std::exchange(head_, nullptr);
            tail_ = nullptr;
            head_offset_ = 0;
        }
        scheduled_ = ends;  // a queue that ends must not be scheduled again
        if (!closes_ && run_.load(std::memory_order_relaxed) == nullptr) set_at_rest(true);
    }
    if (ends) end();
    else chunks().give(large);
    return true;
}

Queue::Next Queue::step() noexcept {
    if (!has_more()) return is_done() ? Next::idle : Next::more;
    Operation& op = next_operation();
    switch (op.step()) {
    case Step::work: return Next::work;
    case Step::signal: {
        // Until step_over(), look.cpp finds the completion in the closure or in `completing_`.
        completing_.store(static_cast<Signal*>(op.closure())->done.get(),
                          std::memory_order_relaxed);
        const Signal signal = std::move(*static_cast<Signal*>(op.closure()));
        static_cast<Signal*>(op.closure())->~Signal();
        order_before(*signal.done);
        step_over(op, signal.done, failed_ ? failure() : nullptr, signal.timing ? now_ns() : 0);
        return Next::more;
    }
    case Step::wait: {
        auto& done = *static_cast<CompletionRef*>(op.closure());
        if (!done->is_done() && park(*done))
            return Next::suspended;  // resume() executes this step again
        awaited_.store(nullptr, std::memory_order_relaxed);
        fail(done->failure());
        if (Fiber* const own = fiber()) [[unlikely]] {
            own->acquire(done->order());
            own->release(order());
        }
        // look.cpp may read an operation until it has been stepped over. It then finds the
        // completion unchanged, or null.
        {
            const CompletionRef last = std::move(*static_cast<CompletionRef*>(op.closure()));
            static_cast<CompletionRef*>(op.closure())->~CompletionRef();
            step_over(op);
        }
        if (has_loans_.load()) [[unlikely]]
            end_loans();
        return Next::more;
    }
    case Step::recover: recover(op); return Next::more;
    case Step::time: return Next::timed_work;
    case Step::next_chunk: {
        Chunk* empty = std::exchange(head_, head_->next);
        head_offset_ = 0;
        if (empty->size == ChunkPool::standard)
            empty = cached_chunk_.exchange(empty, std::memory_order_acq_rel);
        chunks().give(empty);
        return Next::more;
    }
    }
    return Next::more;
}

namespace {
/// Returns whether to stop before the next operation: `until` has completed, or other work takes
/// precedence. Before the first operation, only more urgent work takes precedence: every drain then
/// makes progress.
inline bool gives_way(Slice& slice, bool first, const Completion* until) noexcept {
    if (first ? slice.is_urgent_ready() : slice.is_over()) return true;
    return until != nullptr && until->is_done();
}
}  // namespace

bool Queue::drain(const Completion* until, bool insists) noexcept {
    // The number of polls for more operations before the queue is released. Polling costs less than
    // rescheduling.
    constexpr int looks = 10;
    // The number of pauses between two polls, about 1 µs in all. Each poll takes the cache line of
    // pushed_ away from the pushing threads.
    constexpr int rest = 16;
    int looked = 0;
    Slice slice(*this);
    for (bool first = true;; first = false) {
        // If this thread has caught up, pauses before it polls again, so that the pushing threads
        // get ahead.
        if (until == nullptr && !first && has_caught_up() && !executor().anything_ready())
            for (int i = 0; i < rest; ++i) pause();
        if (!has_more()) {
            if (until == nullptr && ++looked < looks && !executor().anything_ready()) continue;
        } else {
            looked = 0;
            if (!(first && insists) && gives_way(slice, first, until)) {
                const bool is_over = until != nullptr && until->is_done();
                executor().schedule(*this);
                return is_over;
            }
        }
        switch (step()) {
        case Next::more: break;
        case Next::work:
            if (!run_work(next_operation()))
                return true;  // the thread that finishes it continues the queue
            break;
        case Next::timed_work:
            if (!run_timed(next_operation())) return true;  // the last thread continues the queue
            break;
        case Next::idle:
        case Next::suspended: return true;
        }
    }
}

}  // namespace heddle::detail::cpu
