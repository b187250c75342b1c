// The failure of a stream's work, and the dependencies that may still cause one.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "core/failure/failure.hpp"

namespace heddle::detail {

/// The failure of one stream's work, if any, and the work of other streams that this work depends
/// on. A stream gets a new WorkOutcome when its failure is cleared (clear_error()). A record gets
/// one when it is reused for another stream. Shared with streams that waited for this stream and
/// with events recorded on it, which may query the WorkOutcome much later. All members are
/// thread-safe. (docs/adr/0019)
class WorkOutcome {
public:
    /// Sets the failure unless there is one already. `at` is the submission that failed.
    void fail(const Failure& reason, std::uint64_t at) noexcept;
    /// Returns the failure, own or inherited through dependencies, that affects the first
    /// `submissions` submissions; null if none is known.
    Failure failure_up_to(std::uint64_t submissions) noexcept;
    /// Returns whether there is no failure, and no dependency that could cause one.
    bool is_clean() const noexcept { return clean_.load(std::memory_order_acquire); }

    /// Notes that this stream, at its submission count `now`, waited for the first `submissions`
    /// submissions of the stream whose outcome is `other`. Inherits the dependencies of `other`.
    /// For streams whose failures become known late (host functions of CUDA streams).
    void depend_on(const std::shared_ptr<WorkOutcome>& other, std::uint64_t submissions,
                   std::uint64_t now);
    /// Drops the dependencies of the first `submissions` submissions: they have completed and did
    /// not fail.
    void forget_dependencies(std::uint64_t submissions) noexcept;
    /// Drops the dependencies of the first `submissions` submissions, which have completed. Moves
    /// all other dependencies to `next`, or drops them if `next` is null. Keeps a failure.
    void end(WorkOutcome* next = nullptr, std::uint64_t submissions = ~std::uint64_t{0}) noexcept;
    /// Reuses a clean outcome without other owners for another stream, whose count begins at 0.
    void begin_anew() noexcept { done_.store(0, std::memory_order_relaxed); }

private:
    /// A wait for the first `submissions` submissions of another stream.
    struct Dependency {
        std::shared_ptr<WorkOutcome> on;
        std::uint64_t submissions;
        /// The stream's own submission count at the wait: earlier work is not affected.
        std::uint64_t at;
        /// The count at the newest wait that was merged into this one. Once that wait has
        /// completed, so has the work that it waited for.
        std::uint64_t until;
    };
    /// Adds dependencies that begin at the stream's submission count `now`. Leaves out those that
    /// exist already, and merges old ones. Moves the elements left out or merged to `left`, which
    /// the caller destroys without the lock. Call with `mutex_` held.
    void add(std::list<Dependency>& added, std::uint64_t now, std::list<Dependency>& left) noexcept;
    Failure own_failure_up_to(std::uint64_t submissions) noexcept;
    /// Notes that the first `submissions` submissions are known to have completed.
    void note_done(std::uint64_t submissions) noexcept;
    /// Moves dependencies on work that has completed and did not fail to `to`. Call with `mutex_`
    /// held.
    void forget_done(std::list<Dependency>& to) noexcept;
    /// Updates `clean_`. Call with `mutex_` held.
    void note_clean() noexcept;

    std::atomic<bool> clean_{true};
    std::atomic<std::uint64_t> done_{0};  ///< see note_done()
    /// Guards `dependencies_`. No thread holds the `mutex_` of two WorkOutcomes.
    std::mutex mutex_;
    std::list<Dependency> dependencies_;
    std::mutex failure_mutex_;  ///< guards the two below; no other lock is taken under it
    Failure failure_;
    std::uint64_t failed_at_ = 0;
};

}  // namespace heddle::detail
