// Calls as reported to observers: the call that a thread is executing, and when it began.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

/// The call that this thread is executing, for observers that requested calls.
struct ThreadCall {
    std::int64_t begin_ns = 0;  ///< begin of the call, or of its next operation; 0 if not requested
    std::uint64_t id = 0;       ///< id of its next operation; 0 if not chosen yet
    std::uint64_t parent = 0;   ///< the operation whose work this thread runs, or 0
    WaitReason reason = WaitReason::user;
    std::uint64_t collective = 0;  ///< see OpInfo
    std::uint32_t share = 0, shares = 0;
    const char* collective_name = "";  ///< "all_reduce", for example
};
/// A thread has two, one for each of its ThreadStates: while it waits, it may run work of streams,
/// and this work makes its own calls.
inline constinit thread_local ThreadCall thread_calls[2];

inline ThreadCall& this_call() noexcept {
    return thread_calls[thread_states.in_host_function ? 1 : 0];
}

/// Returns the id of the call's next operation, or 0 if no observer requests the operation's times.
/// A backend that can measure these times calls notify_run() with this id.
inline std::uint64_t timed_id() noexcept {
    const ThreadCall& call = this_call();
    return call.begin_ns != 0 ? call.id : 0;
}
/// Returns the id of the call's next operation, for operations that may run host functions. Returns
/// 0 if no observer requests the operations that host functions enqueue.
inline std::uint64_t function_id() noexcept { return this_call().id; }

/// Like notify(), but without a copy of `op`. Fills in the members that depend on the thread's
/// call.
void complete_and_notify(OpInfo& op) noexcept;
/// Reports to observers an interval in which this thread was blocked. `op` has its begin and end.
/// The thread's current call continues.
void notify_blocked(OpInfo& op) noexcept;
/// Returns whether an observer requests the times of operations and calls.
inline bool wants_times() noexcept {
    return (observed.load(std::memory_order_relaxed) & observe::times) != 0;
}
/// Numbers of faulty records from a profiling library, since the process began.
struct RecordCounts {
    std::uint64_t dropped = 0;        ///< records lost for lack of room
    std::uint64_t without_times = 0;  ///< records with no times, or with impossible ones
};

/// Reports to observers when an operation ran. Thread-safe.
void notify_run(const OpRun& run) noexcept;
/// If an observer requests times, reports to it that the operation which this thread runs has
/// failed.
inline void notify_failed() noexcept {
    if (const std::uint64_t id = this_call().parent; id != 0 && wants_times())
        notify_run({.id = id, .result = RunResult::failed});
}
/// Reports to observers a reading of a device's clock. Thread-safe.
void notify_clock(const ClockReading& reading) noexcept;

/// While it exists, sets the reason for all waits and event records that this thread enqueues.
class Because {
public:
    explicit Because(WaitReason reason) noexcept : before_(this_call().reason) {
        this_call().reason = reason;
    }
    ~Because() { this_call().reason = before_; }
    Because(const Because&) = delete;
    Because& operator=(const Because&) = delete;

private:
    WaitReason before_;
};

/// Whether a ShareMark has ever been made. If not, threads do not search for one.
inline constinit std::atomic<bool> has_shares{false};

/// While it exists, marks work that this thread enqueues as one device's share of a collective.
class ShareMark {
public:
    ShareMark(std::uint64_t collective, std::uint32_t share, std::uint32_t shares,
              const char* name = "") noexcept
        : before_(this_call()) {
        ThreadCall& call = this_call();
        call.collective = collective;
        call.share = share;
        call.shares = shares;
        call.collective_name = name;
        if (!has_shares.load(std::memory_order_relaxed)) has_shares.store(true);
    }
    ~ShareMark() {
        ThreadCall& call = this_call();
        call.collective = before_.collective;
        call.share = before_.share;
        call.shares = before_.shares;
        call.collective_name = before_.collective_name;
    }
    ShareMark(const ShareMark&) = delete;
    ShareMark& operator=(const ShareMark&) = delete;

private:
    ThreadCall before_;
};

/// Marks this thread as running the operation with this id, which may enqueue other operations. An
/// id of 0 means an operation that was not reported to observers. Construct it inside the lifetime
/// of an InHostFunction.
class RunsOperation {
public:
    explicit RunsOperation(std::uint64_t id) noexcept
        : before_(std::exchange(this_call().parent, id)) {}
    ~RunsOperation() { this_call().parent = before_; }
    RunsOperation(const RunsOperation&) = delete;
    RunsOperation& operator=(const RunsOperation&) = delete;

private:
    const std::uint64_t before_;
};

}  // namespace heddle::detail
