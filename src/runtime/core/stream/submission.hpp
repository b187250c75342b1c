// Submissions to streams whose native calls share no lock with heddle. They are announced, so that
// a batch does not add the stream during a submission (docs/adr/0060).
#pragma once

#include "core/seam/records.hpp"
#include "core/stream/recorded_calls.hpp"

namespace heddle::detail {

/// One call that enqueues work. Construct it before the native calls, and call count() after them:
///
///     Submission submission(stream, where);
///     check(native_call(native_of(stream)), ...);
///     submission.count();
///
/// The caller checked earlier whether the stream is recorded. The constructor announces the call
/// and checks again. A batch that is about to add the stream then sees the announcement and leaves
/// the stream out. Otherwise, this object sees the batch and flushes it first. Neither thread waits
/// for the other, even if the other is preempted. Costs one atomic addition.
class Submission {
public:
    Submission(StreamRecord& stream, const SourceLocation& where) : stream_(stream) {
        announce();
        if ((stream.flags.load() & stream_flag::joined) != 0) [[unlikely]]
            wait_for_batch(where);
    }
    /// Call with the lock of the stream's recorder held.
    explicit Submission(StreamRecord& stream) noexcept : stream_(stream) { announce(); }
    ~Submission() {
        if (counts_on_exit_) count();
        if (!is_counted_) [[unlikely]]
            withdraw();
    }
    Submission(const Submission&) = delete;
    Submission& operator=(const Submission&) = delete;

    /// Counts the submission, which has been enqueued. If the call throws before count(), it has
    /// enqueued nothing.
    void count() noexcept {
        count_submission(stream_);
        is_counted_ = true;
        counts_on_exit_ = false;
    }
    /// Makes the destructor count the submission, even after an exception, because part of the work
    /// may have been enqueued.
    void count_on_exit() noexcept { counts_on_exit_ = true; }

private:
    // Sequentially consistent, like the flag's change and the check in Backend::finish_enqueues().
    void announce() noexcept { stream_.announced.fetch_add(1); }
    void withdraw() noexcept { stream_.announced.fetch_sub(1); }
    [[gnu::cold, gnu::noinline]] void wait_for_batch(const SourceLocation& where) {
        bool looks_again = true;
        while (looks_again && (stream_.flags.load() & stream_flag::joined) != 0) {
            withdraw();
            looks_again = make_way(stream_, where);
            announce();
        }
    }

    StreamRecord& stream_;
    bool is_counted_ = false;
    bool counts_on_exit_ = false;
};

}  // namespace heddle::detail
