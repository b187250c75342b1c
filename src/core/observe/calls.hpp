// What observers are told of calls: the call that a thread is in, and when it began.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <heddle/detail/thread_state.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// The call that this thread is in, as far as observers want to know.
struct ThreadCall {
    std::int64_t begin_ns = 0;  ///< when it, or its last operation, was done; 0: not wanted
    std::uint64_t id = 0;       ///< of its next operation; 0: not chosen yet
    std::uint64_t parent = 0;   ///< the operation that this thread runs, or 0
    WaitReason reason = WaitReason::user;
    std::uint64_t collective = 0;  ///< see OpInfo
    std::uint32_t share = 0, shares = 0;
    const char* collective_name = "";  ///< "all_reduce", for example
};
/// As for ThreadStates: a thread that waits may run work of streams, which has calls of its own.
inline constinit thread_local ThreadCall thread_calls[2];

inline ThreadCall& this_call() noexcept {
    return thread_calls[thread_states.in_host_function ? 1 : 0];
}

/// Returns the id that the call's next operation will have, or 0 if no observer wants to know when
/// that runs. A backend that can measure it calls notify_run() with it.
inline std::uint64_t timed_id() noexcept {
    const ThreadCall& call = this_call();
    return call.begin_ns != 0 ? call.id : 0;
}
/// The same for an operation that may run host functions: or 0 if no observer wants to know what
/// they enqueue.
inline std::uint64_t function_id() noexcept { return this_call().id; }

/// Like notify(), without a copy: sets what the thread's call says of the operation.
void complete_and_notify(OpInfo& op) noexcept;
/// Tells observers of a stretch in which this thread was blocked: `op` has its begin and end. The
/// call that the thread is in goes on.
void notify_blocked(OpInfo& op) noexcept;
/// Returns whether an observer wants to know when operations run and how long calls take.
inline bool wants_times() noexcept {
    return (observed.load(std::memory_order_relaxed) & observe::times) != 0;
}
/// What the records of a profiling library lack, since the process began.
struct RecordCounts {
    std::uint64_t dropped = 0;        ///< for which there was no room
    std::uint64_t without_times = 0;  ///< with no times, or with impossible ones
};

/// Tells observers when an operation ran. Thread-safe.
void notify_run(const OpRun& run) noexcept;
/// Tells observers that the operation which this thread runs has failed, if they want times.
inline void notify_failed() noexcept {
    if (const std::uint64_t id = this_call().parent; id != 0 && wants_times())
        notify_run({.id = id, .result = RunResult::failed});
}
/// Tells observers what a device's clock showed. Thread-safe.
void notify_clock(const ClockReading& reading) noexcept;

/// Gives a reason to the waits and records that this thread makes during its lifetime.
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

/// Whether there has ever been a ShareMark: else nobody need look for one.
inline constinit std::atomic<bool> has_shares{false};

/// Marks what this thread enqueues during its lifetime as one device's share of a collective.
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

/// Marks this thread as running the operation with this id (0: none that observers know), which
/// may enqueue others. Make it within InHostFunction.
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
