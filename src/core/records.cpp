#include "core/records.hpp"

#include "core/registry.hpp"

#include <algorithm>
#include <thread>

namespace heddle::detail {

void SpinLock::lock() noexcept {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
        while (held_.load(std::memory_order_relaxed))
            if (++spins > 64) std::this_thread::yield();
    }
}

// Entries are found by scanning from where the id would be; a full table overwrites that first place.
bool WaitedFor::covers(std::uint64_t stream_id, std::uint64_t submissions) const noexcept {
    if (submissions == 0) return true;  // nothing was ever given to it
    for (std::size_t i = 0; i < count; ++i) {
        const Entry& entry = entries_[(stream_id + i) % count];
        const std::uint32_t before = entry.version.load(std::memory_order_acquire);
        const std::uint64_t id = entry.stream_id.load(std::memory_order_relaxed);
        if (id == 0 && before == 0) return false;
        if (id != stream_id || (before & 1) != 0) continue;
        const std::uint64_t seen = entry.submissions.load(std::memory_order_acquire);
        // The acquire above keeps this load after it; an unchanged version means both words belong together.
        if (entry.version.load(std::memory_order_relaxed) == before) return seen >= submissions;
    }
    return false;
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
    std::uint32_t version = place->version.load(std::memory_order_relaxed);
    if ((version & 1) != 0 ||
        !place->version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel))
        return;  // another thread is writing here: forgetting is safe
    // What was waited for before stays waited for.
    if (place->stream_id.load(std::memory_order_relaxed) == stream_id)
        submissions = std::max(submissions, place->submissions.load(std::memory_order_relaxed));
    place->stream_id.store(stream_id, std::memory_order_release);
    place->submissions.store(submissions, std::memory_order_release);
    place->version.store(version + 2, std::memory_order_release);
}

void WaitedFor::forget() noexcept {
    for (Entry& entry : entries_) {
        entry.stream_id.store(0, std::memory_order_relaxed);
        entry.submissions.store(0, std::memory_order_relaxed);
        entry.version.store(0, std::memory_order_release);
    }
}

void StreamRecord::poison(Failure reason, std::uint64_t at) {
    {
        const std::lock_guard lock(failure_mutex);
        if (failure != nullptr) return;
        failure = reason;
        failed_at = at;
        set(stream_flag::poisoned);
    }
    if (has(stream_flag::dead)) report(*reason);  // nobody is left to synchronise with it
}

Failure StreamRecord::known_failure() { return failure_up_to(~std::uint64_t{0}); }

Failure StreamRecord::failure_up_to(std::uint64_t up_to) {
    std::vector<Dependency> others;
    {
        const std::lock_guard lock(failure_mutex);
        if (failure != nullptr && failed_at <= up_to) return failure;
        if (dependencies.empty()) return nullptr;
        others = dependencies;
    }
    for (const Dependency& other : others) {
        if (other.at > up_to) continue;
        Failure theirs;
        {
            const std::lock_guard lock(other.stream->failure_mutex);
            // A record with a failure is not used again, so another id means that there was none.
            if (other.stream->id.load() == other.stream_id && other.stream->failure != nullptr &&
                other.stream->failed_at <= other.submissions)
                theirs = other.stream->failure;
        }
        if (theirs != nullptr) {
            poison(theirs, other.at);
            return theirs;
        }
    }
    return nullptr;
}

void StreamRecord::forget_dependencies(std::uint64_t up_to) {
    const std::lock_guard lock(failure_mutex);
    std::erase_if(dependencies, [&](const Dependency& d) { return d.at <= up_to; });
}

void StreamRecord::depend_on(StreamRecord& other, std::uint64_t upto) {
    std::vector<Dependency> theirs;
    {
        const std::lock_guard lock(other.failure_mutex);
        for (const Dependency& one : other.dependencies)
            if (one.at <= upto) theirs.push_back(one);
    }
    theirs.push_back({&other, other.id.load(), upto, 0});
    const std::uint64_t now = submissions.load();
    const std::lock_guard lock(failure_mutex);
    for (Dependency& one : theirs) {
        if (one.stream == this) continue;
        one.at = now;
        // A wait in a loop must not grow this for ever: beyond a few, the oldest two for one stream become one, which errs on
        // the side of blaming too much.
        constexpr std::size_t exact = 16;
        const auto same = [&](const Dependency& d) {
            return d.stream == one.stream && d.stream_id == one.stream_id;
        };
        if (static_cast<std::size_t>(std::ranges::count_if(dependencies, same)) >= exact) {
            const auto oldest = std::ranges::find_if(dependencies, same);
            const auto next = std::find_if(oldest + 1, dependencies.end(), same);
            next->at = oldest->at;
            dependencies.erase(oldest);
        }
        dependencies.push_back(one);
    }
    set(stream_flag::fallible);
}

}  // namespace heddle::detail
