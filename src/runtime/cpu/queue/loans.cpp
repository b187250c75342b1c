#include "cpu/queue/loans.hpp"

#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "core/seam/records.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

bool Loans::add(int level, std::uint32_t until) noexcept {
    for (int i = 0; i <= level; ++i)
        if ((lent_ >> i & 1) != 0 && !is_ahead(until, until_[static_cast<std::size_t>(i)]))
            return false;
    lent_ |= 1u << level;
    until_[static_cast<std::size_t>(level)] = until;
    return true;
}

void Loans::remove_until(std::uint32_t done) noexcept {
    for (int i = 0; i < levels - 1; ++i)
        if (!is_ahead(until_[static_cast<std::size_t>(i)], done)) lent_ &= ~(1u << i);
}

int Loans::most_urgent(int own) const noexcept {
    return lent_ == 0 ? own : std::min(own, std::countr_zero(lent_));
}

bool Queue::borrow(int level, std::uint32_t until) noexcept {
    const auto done = [&] { return static_cast<std::uint32_t>(done_.load()); };
    if (own_level() <= level || !Loans::is_ahead(until, done()) || !loans_.add(level, until))
        return false;
    has_loans_.store(true);
    // If the draining thread did not see has_loans_, it had already completed the operations up to
    // `until`.
    loans_.remove_until(done());
    use_level();
    return true;
}

void Queue::use_level() noexcept {
    has_loans_.store(!loans_.is_empty());
    const int now = loans_.most_urgent(own_level());
    if (now == level()) return;
    stream_.level.store(now);
    executor().set_level(*this, now);
    executor().set_level(spread_, now);
    for (StreamRun* run = runs_; run != nullptr; run = run->next_run_)
        executor().set_level(*run, now);
}

void Queue::end_loans() noexcept {
    const std::lock_guard life(stream_.life);
    loans_.remove_until(static_cast<std::uint32_t>(done()));
    use_level();
}

bool Queue::park(Completion& done) noexcept {
    StreamRecord& own = stream_;
    // A thread may be lending this stream a level at the same time. At least one of the two sees
    // the other's change: that thread sees awaited_, or this thread sees the level.
    awaited_.store(&done, std::memory_order_relaxed);  // add() is the barrier
    if (!done.add(waiting_)) return false;
    // The queue may no longer exist.
    if (const int now = own.level.load(); now < levels - 1) [[unlikely]]
        lend(done, now);
    return true;
}

void Queue::add(StreamRun& run) noexcept {
    const std::lock_guard life(stream_.life);
    run.next_run_ = runs_;
    if (runs_ != nullptr) runs_->previous_run_ = &run;
    runs_ = &run;
    if (run.level() != level()) executor().set_level(run, level());
}

void Queue::remove(StreamRun& run) noexcept {
    const std::lock_guard life(stream_.life);
    if (run.next_run_ != nullptr) run.next_run_->previous_run_ = run.previous_run_;
    (run.previous_run_ != nullptr ? run.previous_run_->next_run_ : runs_) = run.next_run_;
}

void Queue::add_awaited(std::vector<Completion*>& to) const {
    if (Completion* const own = awaited()) to.push_back(own);
    for (const StreamRun* run = runs_; run != nullptr; run = run->next_run_) run->add_awaited(to);
}

StreamRun* Queue::take_run() noexcept {
    for (StreamRun* run = runs_; run != nullptr; run = run->next_run_)
        if (executor().unschedule(*run)) return run;
    return nullptr;
}

bool Queue::hold_awaited(CompletionRef& to) const noexcept {
    Completion* const own = awaited();
    if (own == nullptr) return false;
    // If the queue waits for its own run, returns the event that the run waits for instead.
    for (const StreamRun* run = runs_; run != nullptr; run = run->next_run_) {
        to = run->first_awaited();
        if (to) return true;
    }
    to = CompletionRef::try_from(own);
    // The queue clears awaited() before it releases its reference.
    return to && awaited() == own;
}

namespace {
/// Lends the priority `level` to the stream that will complete `awaited`. If this raises that
/// stream's priority, adds to `to` the completions that it waits for.
void lend(Completion& awaited, int level, std::vector<Completion*>& to) {
    StreamRecord* const by = awaited.promised_by();
    if (by == nullptr || by->has(stream_flag::forked)) return;
    const std::lock_guard life(by->life);
    // A stream keeps its queue at least until it has completed all completions that it promised.
    if (awaited.is_done() || awaited.promised_by() != by || by->native == nullptr) return;
    Queue& queue = queue_of(*by);
    if (queue.borrow(level, awaited.promised_at())) queue.add_awaited(to);
}
}  // namespace

// Follows the pointers without references: completions are never freed, only reused.
void lend(Completion& awaited, int level) noexcept {
    try {
        std::vector<Completion*> next{&awaited};
        while (!next.empty()) {
            Completion* const one = next.back();
            next.pop_back();
            lend(*one, level, next);
        }
    } catch (const std::bad_alloc&) {
        // The remaining streams keep their own priority.
    }
}

void lend_from(StreamRecord& waiter, Completion& awaited) noexcept {
    int level = levels;
    {
        const std::lock_guard life(waiter.life);
        if (waiter.native == nullptr || queue_of(waiter).awaited() != &awaited) return;
        level = waiter.level.load();
    }
    if (level < levels - 1) lend(awaited, level);
}

}  // namespace heddle::detail::cpu
