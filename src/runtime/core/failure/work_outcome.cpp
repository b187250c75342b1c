#include "core/failure/work_outcome.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/failure/late_failures.hpp"

namespace heddle::detail {

void WorkOutcome::fail(const Failure& reason, std::uint64_t at) noexcept {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ != nullptr) return;
    reason->note_taken();
    failure_ = reason;
    failed_at_ = at;
    clean_.store(false, std::memory_order_release);
}

Failure WorkOutcome::own_failure_up_to(std::uint64_t up_to) noexcept {
    const std::lock_guard lock(failure_mutex_);
    return failure_ != nullptr && failed_at_ <= up_to ? failure_ : nullptr;
}

void WorkOutcome::note_clean() noexcept {
    const std::lock_guard lock(failure_mutex_);
    clean_.store(failure_ == nullptr && dependencies_.empty(), std::memory_order_release);
}

Failure WorkOutcome::failure_up_to(std::uint64_t up_to) noexcept {
    look_for_late_failures();
    if (is_clean()) return nullptr;
    Failure first = own_failure_up_to(up_to);
    if (first != nullptr) return first;
    std::uint64_t at = up_to;
    {
        const std::lock_guard lock(mutex_);
        for (const Dependency& other : dependencies_) {
            if (other.at > at || (first != nullptr && other.at == at)) continue;
            Failure theirs = other.on->own_failure_up_to(other.submissions);
            if (theirs == nullptr) continue;
            first = std::move(theirs);
            at = other.at;
        }
    }
    if (first != nullptr) fail(first, at);
    return first;
}

void WorkOutcome::note_done(std::uint64_t submissions) noexcept {
    std::uint64_t known = done_.load(std::memory_order_relaxed);
    while (known < submissions &&
           !done_.compare_exchange_weak(known, submissions, std::memory_order_release,
                                        std::memory_order_relaxed)) {}
}

// Once the first `up_to` submissions have completed, so has the work that they waited for.
void WorkOutcome::forget_dependencies(std::uint64_t up_to) noexcept {
    note_done(up_to);
    std::list<Dependency> forgotten;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    for (auto one = dependencies_.begin(); one != dependencies_.end();) {
        const auto here = one++;
        if (here->until > up_to) continue;
        here->on->note_done(here->submissions);
        forgotten.splice(forgotten.end(), dependencies_, here);
    }
    note_clean();
}

void WorkOutcome::forget_done(std::list<Dependency>& to) noexcept {
    for (auto one = dependencies_.begin(); one != dependencies_.end();) {
        const auto here = one++;
        if (here->submissions > here->on->done_.load(std::memory_order_acquire)) continue;
        if (here->on->own_failure_up_to(here->submissions) == nullptr)
            to.splice(to.end(), dependencies_, here);
    }
}

void WorkOutcome::add(std::list<Dependency>& added, std::uint64_t now,
                      std::list<Dependency>& left) noexcept {
    constexpr std::size_t many = 64;
    if (dependencies_.size() >= many) forget_done(left);
    while (!added.empty()) {
        Dependency& one = added.front();
        one.at = one.until = now;
        const auto same = [&](const Dependency& d) { return d.on == one.on; };
        // Streams that wait for each other inherit dependencies that they already have: leaves
        // these out.
        if (std::ranges::any_of(dependencies_, [&](const Dependency& d) {
                return same(d) && d.submissions >= one.submissions;
            })) {
            left.splice(left.begin(), added, added.begin());
            continue;
        }
        // Waits in a loop must not grow the list without bound. Beyond 16 dependencies on one
        // stream, the oldest two are merged. A failure may then affect too much work, but never too
        // little.
        constexpr std::ptrdiff_t exact = 16;
        if (std::ranges::count_if(dependencies_, same) >= exact) {
            const auto oldest = std::ranges::find_if(dependencies_, same);
            const auto next = std::find_if(std::next(oldest), dependencies_.end(), same);
            next->at = std::min(next->at, oldest->at);
            next->until = std::max(next->until, oldest->until);
            next->submissions = std::max(next->submissions, oldest->submissions);
            left.splice(left.begin(), dependencies_, oldest);
        }
        dependencies_.splice(dependencies_.end(), added, added.begin());
    }
}

void WorkOutcome::depend_on(const std::shared_ptr<WorkOutcome>& other, std::uint64_t upto,
                            std::uint64_t now) {
    if (other.get() == this) return;
    std::list<Dependency> added;
    {
        const std::lock_guard lock(other->mutex_);
        for (const Dependency& one : other->dependencies_)
            if (one.at <= upto && one.on.get() != this) added.push_back(one);
    }
    added.push_back({other, upto, 0, 0});
    std::list<Dependency> merged;
    const std::lock_guard lock(mutex_);
    add(added, now, merged);
    clean_.store(false, std::memory_order_release);
}

void WorkOutcome::end(WorkOutcome* next, std::uint64_t submissions) noexcept {
    if (is_clean()) return;
    std::list<Dependency> left;
    {
        const std::lock_guard lock(mutex_);
        // Breaks cycles, because outcomes that depend on each other would never be freed.
        left.swap(dependencies_);
        note_clean();
    }
    if (next == nullptr) return;
    std::erase_if(left, [&](const Dependency& d) { return d.until <= submissions; });
    const std::lock_guard lock(next->mutex_);
    next->dependencies_.splice(next->dependencies_.begin(), left);
    next->note_clean();
}

}  // namespace heddle::detail
