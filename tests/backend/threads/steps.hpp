// A stream that is a thread: it executes a list of steps, one after the other.
#pragma once

#include "core/failure/fallible_stream.hpp"
#include "core/seam/backend.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace heddle_test {

using namespace heddle::detail;
using heddle::SourceLocation;

/// Moves an operation's closure out of its caller's memory.
SharedClosure moved_closure(const OpType& type, void* from);

/// One entry of a stream's list. Only work and waits are submissions.
struct Step {
    enum Kind : std::uint8_t { work, wait, signal, recover } kind = work;
    CompletionRef done = {};  ///< wait: for this; signal, recover: complete this
    bool is_timed = false;    ///< signal: whether to note the time
    const OpType* type = nullptr;
    SharedClosure closure = {};
    std::size_t count = 1;
    SourceLocation where = {};
    std::shared_ptr<WorkOutcome> next = {};  ///< recover: the stream's outcome from now on

    bool is_submission() const noexcept { return kind == work || kind == wait; }
};

/// The native stream. Its thread deletes it when the stream is closed and no step is left. All
/// functions are thread-safe.
class Steps {
public:
    explicit Steps(StreamRecord& stream);

    /// Appends a submission. If the stream has joined a batch since core's check, flushes the batch
    /// first.
    void submit(Step step, const SourceLocation& where);
    /// Appends a signal or a recovery.
    void push(Step step) { (void)append(step, false); }

    bool is_idle() noexcept;
    void count_native() noexcept;
    /// Returns once all calls of submit() that have not seen the flag `joined` have counted their
    /// submission.
    void finish_submissions() noexcept { const std::lock_guard lock(mutex_); }
    /// Returns the completion that completes when the stream has ended.
    CompletionRef& last() noexcept { return last_; }
    void close() noexcept;

private:
    bool append(Step& step, bool may_join);
    void run() noexcept;
    void execute(Step& step) noexcept;
    void run_work(Step& step) noexcept;
    void call(const OpType& type, const Step& step) noexcept;
    void leave() noexcept;
    void fail(const Failure& failure) noexcept;
    void end() noexcept;

    StreamRecord& stream_;
    CompletionRef last_ = make_completion();
    std::mutex mutex_;  ///< guards the next four
    std::condition_variable changed_;
    std::deque<Step> steps_;
    std::size_t left_ = 0;  ///< number of steps that are not done
    bool is_closed_ = false;
    // Only the stream's thread uses these.
    bool has_failed_ = false;
    std::uint64_t submission_ = 0;  ///< the number of the newest submission that has begun
};

inline Steps& steps_of(StreamRecord& stream) noexcept {
    return *static_cast<Steps*>(stream.native);
}
/// Returns a completion of the work enqueued so far, or null if there is none. The stream may be
/// closed or ended.
CompletionRef pending_of(const StreamUse& use);

}  // namespace heddle_test
