#include "core/seam/records.hpp"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

namespace heddle::detail {

// An open-addressed table: the scan begins at the id's home slot, which is overwritten if the table
// is full. An empty entry ends the scan. A concurrent forget() may thus hide later entries, which
// costs a redundant wait.
bool WaitedFor::covers(std::uint64_t stream_id, std::uint64_t submissions) const noexcept {
    if (submissions == 0) return true;  // nothing was ever enqueued on it
    for (std::size_t i = 0; i < count; ++i) {
        const Entry& entry = entries_[(stream_id + i) % count];
        const std::uint64_t before = entry.version.load(std::memory_order_acquire);
        // A reader that loads a word of a later write also sees that write's odd version, or a
        // newer one, below. The words are stored with release after the version became odd. They
        // are loaded with acquire before the version is loaded again.
        const std::uint64_t id = entry.stream_id.load(std::memory_order_acquire);
        if (id == 0) return false;
        if (id != stream_id || (before & 1) != 0) continue;
        const std::uint64_t seen = entry.submissions.load(std::memory_order_acquire);
        if (entry.version.load(std::memory_order_relaxed) == before) return seen >= submissions;
    }
    return false;
}

/// Completes a write. Call it after making the version odd; `version` is the even one before that.
void WaitedFor::write(Entry& entry, std::uint64_t version, std::uint64_t stream_id,
                      std::uint64_t submissions) noexcept {
    entry.stream_id.store(stream_id, std::memory_order_release);
    entry.submissions.store(submissions, std::memory_order_release);
    entry.version.store(version + 2, std::memory_order_release);
}

void WaitedFor::note(std::uint64_t stream_id, std::uint64_t submissions) noexcept {
    Entry* place = &entries_[stream_id % count];
    for (std::size_t i = 0; i < count; ++i) {
        Entry& entry = entries_[(stream_id + i) % count];
        const std::uint64_t id = entry.stream_id.load(std::memory_order_relaxed);
        if (id == stream_id || id == 0) {
            place = &entry;
            break;
        }
    }
    std::uint64_t version = place->version.load(std::memory_order_relaxed);
    if ((version & 1) != 0 ||
        !place->version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel))
        return;  // another thread is writing here: dropping the note is safe
    // An older note that covers more stays.
    if (place->stream_id.load(std::memory_order_relaxed) == stream_id)
        submissions = std::max(submissions, place->submissions.load(std::memory_order_relaxed));
    write(*place, version, stream_id, submissions);
}

void WaitedFor::forget() noexcept {
    for (Entry& entry : entries_) {
        std::uint64_t version = entry.version.load(std::memory_order_relaxed);
        while ((version & 1) != 0 || !entry.version.compare_exchange_weak(
                                         version, version + 1, std::memory_order_acq_rel)) {
            std::this_thread::yield();
            version = entry.version.load(std::memory_order_relaxed);
        }
        write(entry, version, 0, 0);
    }
}

// Fates -------------------------------------------------------------------------------------------

void Fate::fail(const Failure& reason, std::uint64_t at) noexcept {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ != nullptr) return;
    reason->note_taken();
    failure_ = reason;
    failed_at_ = at;
    clean_.store(false, std::memory_order_release);
}

Failure Fate::own_failure_up_to(std::uint64_t up_to) noexcept {
    const std::lock_guard lock(failure_mutex_);
    return failure_ != nullptr && failed_at_ <= up_to ? failure_ : nullptr;
}

void Fate::note_clean() noexcept {
    const std::lock_guard lock(failure_mutex_);
    clean_.store(failure_ == nullptr && dependencies_.empty(), std::memory_order_release);
}

Failure Fate::failure_up_to(std::uint64_t up_to) noexcept {
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

void Fate::note_done(std::uint64_t submissions) noexcept {
    std::uint64_t known = done_.load(std::memory_order_relaxed);
    while (known < submissions &&
           !done_.compare_exchange_weak(known, submissions, std::memory_order_release,
                                        std::memory_order_relaxed)) {}
}

// What this stream waited for has completed too.
void Fate::forget_dependencies(std::uint64_t up_to) noexcept {
    note_done(up_to);
    std::list<Dependency> forgotten;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    for (auto one = dependencies_.begin(); one != dependencies_.end();) {
        const auto here = one++;
        if (here->at > up_to) continue;
        here->on->note_done(here->submissions);
        forgotten.splice(forgotten.end(), dependencies_, here);
    }
    note_clean();
}

void Fate::forget_done(std::list<Dependency>& to) noexcept {
    for (auto one = dependencies_.begin(); one != dependencies_.end();) {
        const auto here = one++;
        if (here->submissions > here->on->done_.load(std::memory_order_acquire)) continue;
        if (here->on->own_failure_up_to(here->submissions) == nullptr)
            to.splice(to.end(), dependencies_, here);
    }
}

void Fate::depend_on(const std::shared_ptr<Fate>& other, std::uint64_t upto, std::uint64_t now) {
    if (other.get() == this) return;
    std::list<Dependency> added;
    {
        const std::lock_guard lock(other->mutex_);
        for (const Dependency& one : other->dependencies_)
            if (one.at <= upto && one.on.get() != this) added.push_back(one);
    }
    added.push_back({other, upto, 0});
    std::list<Dependency> merged;
    const std::lock_guard lock(mutex_);
    // Nothing below throws.
    constexpr std::size_t many = 64;
    if (dependencies_.size() >= many) forget_done(merged);
    while (!added.empty()) {
        Dependency& one = added.front();
        one.at = now;
        // Waits in a loop must not grow the list without bound. Beyond 16 for one stream, the
        // oldest two are merged, which may blame a failure on too much work, never on too little.
        constexpr std::ptrdiff_t exact = 16;
        const auto same = [&](const Dependency& d) { return d.on == one.on; };
        if (std::ranges::count_if(dependencies_, same) >= exact) {
            const auto oldest = std::ranges::find_if(dependencies_, same);
            const auto next = std::find_if(std::next(oldest), dependencies_.end(), same);
            next->at = oldest->at;
            merged.splice(merged.end(), dependencies_, oldest);
        }
        dependencies_.splice(dependencies_.end(), added, added.begin());
    }
    clean_.store(false, std::memory_order_release);
}

void Fate::end(Fate* next, std::uint64_t submissions) noexcept {
    if (is_clean()) return;
    std::list<Dependency> left;
    {
        const std::lock_guard lock(mutex_);
        // Breaks cycles: fates that depend on each other would never be freed.
        left.swap(dependencies_);
        note_clean();
    }
    if (next == nullptr) return;
    std::erase_if(left, [&](const Dependency& d) { return d.at <= submissions; });
    const std::lock_guard lock(next->mutex_);
    next->dependencies_.splice(next->dependencies_.begin(), left);
    next->note_clean();
}

// Failures of streams -----------------------------------------------------------------------------

std::shared_ptr<Fate> StreamRecord::current_fate() noexcept {
    const std::lock_guard lock(failure_mutex);
    return fate;
}

std::shared_ptr<Fate> StreamRecord::fallible_fate() noexcept {
    if (device.is_cuda() && !has(stream_flag::poisoned | stream_flag::fallible)) return nullptr;
    return current_fate();
}

void StreamRecord::poison(const Failure& reason, std::uint64_t at) noexcept {
    const std::lock_guard lock(failure_mutex);
    fate->fail(reason, at);
    set(stream_flag::poisoned);
}

Failure StreamRecord::failure_up_to(std::uint64_t up_to) noexcept {
    std::shared_ptr<Fate> now;
    {
        const std::lock_guard lock(failure_mutex);
        if (fate->is_clean()) return nullptr;
        now = fate;
    }
    Failure failure = now->failure_up_to(up_to);
    if (failure != nullptr && !has(stream_flag::poisoned)) {
        const std::lock_guard lock(failure_mutex);
        if (fate == now) set(stream_flag::poisoned);
    }
    return failure;
}

void StreamRecord::forget_dependencies(std::uint64_t up_to) {
    current_fate()->forget_dependencies(up_to);
}

void StreamRecord::depend_on(StreamRecord& other, std::uint64_t other_id, std::uint64_t upto) {
    std::shared_ptr<Fate> theirs = other.current_fate();
    if (other.id.load(std::memory_order_acquire) != other_id)
        return;  // another stream by now: all work of `other` has completed
    depend_on(theirs, upto);
}

void StreamRecord::depend_on(const std::shared_ptr<Fate>& other, std::uint64_t upto) {
    if (device.is_cpu()) return;
    const std::uint64_t now = submissions.load();
    current_fate()->depend_on(other, upto, now);
    set(stream_flag::fallible);
}

Failure StreamRecord::take_failure(std::uint64_t done, std::shared_ptr<Fate> next) {
    Failure failure = known_failure();
    if (failure == nullptr) return nullptr;
    {
        const std::lock_guard lock(failure_mutex);
        fate.swap(next);
        clear(stream_flag::poisoned);  // `fallible` stays: host functions may be pending
    }
    next->end(current_fate().get(), done);  // after the swap, `next` is the old fate
    return failure;
}

void StreamRecord::prepare_fate() {
    if (next_fate == nullptr) next_fate = std::make_shared<Fate>();
}

bool StreamRecord::renew_fate() noexcept {
    std::shared_ptr<Fate> old;
    try {
        (void)known_failure();  // takes over a failure of its dependencies
        {
            const std::lock_guard lock(failure_mutex);
            if (fate->is_clean() && fate.use_count() == 1)
                return true;  // no other holder, and none can appear without the lock
        }
        prepare_fate();  // again, if another thread has taken hold of the one made before
        const std::lock_guard lock(failure_mutex);
        old = std::exchange(fate, std::move(next_fate));
        clear(stream_flag::poisoned | stream_flag::fallible);
    } catch (...) {
        return false;
    }
    old->end();
    return true;
}

}  // namespace heddle::detail
