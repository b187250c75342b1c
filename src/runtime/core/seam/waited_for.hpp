// Remembers the waits of a stream, so that redundant waits can be elided.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace heddle::detail {

/// The other streams that a stream has waited for, each with the submission up to which it waited.
/// Stores only a few waits; forgetting one costs a redundant wait (docs/adr/0002). Thread-safe.
/// covers() and note() never block: a concurrent writer drops its note. forget() waits for a note()
/// in progress.
///
/// `Atomic` is std::atomic; a test replaces it by a model of weakly ordered memory.
template <template <class> class Atomic> class BasicWaitedFor {
public:
    /// Returns whether a wait for the stream's first `submissions` submissions is noted.
    bool covers(std::uint64_t stream_id, std::uint64_t submissions) const noexcept;
    /// Stores a wait. Call it after the wait was enqueued.
    void note(std::uint64_t stream_id, std::uint64_t submissions) noexcept;
    void forget() noexcept;

private:
    /// A seqlock. Versions only grow. A reader that reads the same version again at the end has
    /// read no word of another write.
    struct Entry {
        Atomic<std::uint64_t> version{0};  // odd while being written
        Atomic<std::uint64_t> stream_id{0};
        Atomic<std::uint64_t> submissions{0};
    };
    static void write(Entry& entry, std::uint64_t version, std::uint64_t stream_id,
                      std::uint64_t submissions) noexcept;
    static constexpr std::size_t count = 8;
    Entry entries_[count];
};

// An open-addressed table: the scan begins at the id's home slot, which is overwritten if the table
// is full. An empty entry ends the scan. A concurrent forget() may thus hide later entries, which
// costs a redundant wait.
template <template <class> class Atomic>
bool BasicWaitedFor<Atomic>::covers(std::uint64_t stream_id,
                                    std::uint64_t submissions) const noexcept {
    if (submissions == 0) return true;  // nothing was ever enqueued on it
    for (std::size_t i = 0; i < count; ++i) {
        const Entry& entry = entries_[(stream_id + i) % count];
        const std::uint64_t before = entry.version.load(std::memory_order_acquire);
        // A reader that loads a word of a later write also loads that write's odd version, or a
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

/// Completes a write. Call it after making the version odd; `version` is the even one before the
/// write.
template <template <class> class Atomic>
void BasicWaitedFor<Atomic>::write(Entry& entry, std::uint64_t version, std::uint64_t stream_id,
                                   std::uint64_t submissions) noexcept {
    entry.stream_id.store(stream_id, std::memory_order_release);
    entry.submissions.store(submissions, std::memory_order_release);
    entry.version.store(version + 2, std::memory_order_release);
}

template <template <class> class Atomic>
void BasicWaitedFor<Atomic>::note(std::uint64_t stream_id, std::uint64_t submissions) noexcept {
    Entry* chosen = &entries_[stream_id % count];
    for (std::size_t i = 0; i < count; ++i) {
        Entry& entry = entries_[(stream_id + i) % count];
        const std::uint64_t id = entry.stream_id.load(std::memory_order_relaxed);
        if (id == stream_id || id == 0) {
            chosen = &entry;
            break;
        }
    }
    std::uint64_t version = chosen->version.load(std::memory_order_relaxed);
    if ((version & 1) != 0 ||
        !chosen->version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel))
        return;  // another thread is writing this entry: dropping the note is safe
    // Keeps an older note that covers more submissions.
    if (chosen->stream_id.load(std::memory_order_relaxed) == stream_id)
        submissions = std::max(submissions, chosen->submissions.load(std::memory_order_relaxed));
    write(*chosen, version, stream_id, submissions);
}

template <template <class> class Atomic> void BasicWaitedFor<Atomic>::forget() noexcept {
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

using WaitedFor = BasicWaitedFor<std::atomic>;
extern template class BasicWaitedFor<std::atomic>;

}  // namespace heddle::detail
