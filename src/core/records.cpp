#include "core/records.hpp"

#include "core/registry.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace heddle::detail {

void SpinLock::lock() noexcept {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
        while (held_.load(std::memory_order_relaxed))
            if (++spins > 64) std::this_thread::yield();
    }
}

// Entries are found by scanning from where the id would be; a full table overwrites that first place. An empty entry ends
// the scan: what a concurrent forget() hides in this way is only waited for once more.
bool WaitedFor::covers(std::uint64_t stream_id, std::uint64_t submissions) const noexcept {
    if (submissions == 0) return true;  // nothing was ever given to it
    for (std::size_t i = 0; i < count; ++i) {
        const Entry& entry = entries_[(stream_id + i) % count];
        const std::uint64_t before = entry.version.load(std::memory_order_acquire);
        // Whoever reads a word of a later write sees that write's odd version, or a newer one, below: the words are stored
        // with release after the version became odd, and loaded with acquire before it is asked for again.
        const std::uint64_t id = entry.stream_id.load(std::memory_order_acquire);
        if (id == 0) return false;
        if (id != stream_id || (before & 1) != 0) continue;
        const std::uint64_t seen = entry.submissions.load(std::memory_order_acquire);
        if (entry.version.load(std::memory_order_relaxed) == before) return seen >= submissions;
    }
    return false;
}

/// By whoever has made the version odd: `version` is the even one before.
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
        return;  // another thread is writing here: forgetting is safe
    // What was waited for before stays waited for.
    if (place->stream_id.load(std::memory_order_relaxed) == stream_id)
        submissions = std::max(submissions, place->submissions.load(std::memory_order_relaxed));
    write(*place, version, stream_id, submissions);
}

void WaitedFor::forget() noexcept {
    for (Entry& entry : entries_) {
        std::uint64_t version = entry.version.load(std::memory_order_relaxed);
        while ((version & 1) != 0 ||
               !entry.version.compare_exchange_weak(version, version + 1, std::memory_order_acq_rel)) {
            std::this_thread::yield();
            version = entry.version.load(std::memory_order_relaxed);
        }
        write(entry, version, 0, 0);
    }
}

// Fates ---------------------------------------------------------------------------------------------------------------

void Fate::fail(const Failure& reason, std::uint64_t at) {
    const std::lock_guard lock(mutex_);
    if (failure_ != nullptr) return;
    reason->note_taken();
    failure_ = reason;
    failed_at_ = at;
    clean_.store(false, std::memory_order_release);
}

Failure Fate::own_failure_up_to(std::uint64_t up_to) {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr && failed_at_ <= up_to ? failure_ : nullptr;
}

Failure Fate::failure_up_to(std::uint64_t up_to) {
    if (is_clean()) return nullptr;
    std::vector<Dependency> others;
    {
        const std::lock_guard lock(mutex_);
        if (failure_ != nullptr && failed_at_ <= up_to) return failure_;
        others = dependencies_;
    }
    // Without the lock: two fates may depend on each other.
    Failure first;
    std::uint64_t at = up_to;
    for (const Dependency& other : others) {
        if (other.at > at || (first != nullptr && other.at == at)) continue;
        Failure theirs = other.on->own_failure_up_to(other.submissions);
        if (theirs == nullptr) continue;
        first = std::move(theirs);
        at = other.at;
    }
    if (first != nullptr) fail(first, at);
    return first;
}

void Fate::forget_dependencies(std::uint64_t up_to) {
    std::vector<Dependency> forgotten;  // let go of without the lock
    const std::lock_guard lock(mutex_);
    for (const Dependency& one : dependencies_)
        if (one.at <= up_to) forgotten.push_back(one);
    std::erase_if(dependencies_, [&](const Dependency& d) { return d.at <= up_to; });
    clean_.store(failure_ == nullptr && dependencies_.empty(), std::memory_order_release);
}

void Fate::depend_on(const std::shared_ptr<Fate>& other, std::uint64_t upto, std::uint64_t now) {
    if (other.get() == this) return;
    std::vector<Dependency> theirs;
    {
        const std::lock_guard lock(other->mutex_);
        for (const Dependency& one : other->dependencies_)
            if (one.at <= upto && one.on.get() != this) theirs.push_back(one);
    }
    theirs.push_back({other, upto, 0});
    std::vector<Dependency> merged;
    merged.reserve(theirs.size());
    const std::lock_guard lock(mutex_);
    dependencies_.reserve(dependencies_.size() + theirs.size());
    // What could fail is done.
    for (Dependency& one : theirs) {
        one.at = now;
        // A wait in a loop must not grow this for ever: beyond a few, the oldest two for one stream become one, which errs on
        // the side of blaming too much.
        constexpr std::size_t exact = 16;
        const auto same = [&](const Dependency& d) { return d.on == one.on; };
        if (static_cast<std::size_t>(std::ranges::count_if(dependencies_, same)) >= exact) {
            const auto oldest = std::ranges::find_if(dependencies_, same);
            const auto next = std::find_if(oldest + 1, dependencies_.end(), same);
            next->at = oldest->at;
            merged.push_back(std::move(*oldest));
            dependencies_.erase(oldest);
        }
        dependencies_.push_back(std::move(one));
    }
    clean_.store(false, std::memory_order_release);
}

void Fate::end(Fate* next, std::uint64_t submissions) noexcept {
    if (is_clean()) return;
    std::vector<Dependency> left;
    {
        const std::lock_guard lock(mutex_);
        left.swap(dependencies_);  // fates that depended on each other would keep each other for ever
        clean_.store(failure_ == nullptr, std::memory_order_release);
    }
    if (next == nullptr) return;
    std::erase_if(left, [&](const Dependency& d) { return d.at <= submissions; });
    const std::lock_guard lock(next->mutex_);
    next->dependencies_.swap(left);
    next->clean_.store(next->failure_ == nullptr && next->dependencies_.empty(), std::memory_order_release);
}

// Failures of streams -------------------------------------------------------------------------------------------------

std::shared_ptr<Fate> StreamRecord::current_fate() {
    const std::lock_guard lock(failure_mutex);
    return fate;
}

void StreamRecord::poison(const Failure& reason, std::uint64_t at) {
    const std::lock_guard lock(failure_mutex);
    fate->fail(reason, at);
    set(stream_flag::poisoned);
}

Failure StreamRecord::failure_up_to(std::uint64_t up_to) {
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

void StreamRecord::forget_dependencies(std::uint64_t up_to) { current_fate()->forget_dependencies(up_to); }

void StreamRecord::depend_on(StreamRecord& other, std::uint64_t other_id, std::uint64_t upto) {
    std::shared_ptr<Fate> theirs = other.current_fate();
    if (other.id.load(std::memory_order_acquire) != other_id) return;  // what that one was given has ended
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
        clear(stream_flag::poisoned);  // `fallible` stays: host functions may be on their way
    }
    next->end(current_fate().get(), done);  // it is the old one now
    return failure;
}

bool StreamRecord::renew_fate() noexcept {
    std::shared_ptr<Fate> old;
    try {
        (void)known_failure();  // what its dependencies still have to tell
        {
            const std::lock_guard lock(failure_mutex);
            if (fate->is_clean() && fate.use_count() == 1)
                return true;  // nobody else can get it without the lock
        }
        auto fresh = std::make_shared<Fate>();
        const std::lock_guard lock(failure_mutex);
        old = std::exchange(fate, std::move(fresh));
        clear(stream_flag::poisoned | stream_flag::fallible);
    } catch (...) {
        return false;
    }
    old->end();
    return true;
}

}  // namespace heddle::detail
