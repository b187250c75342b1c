// What observers are told of calls: the call that a thread is in, and when it began.
#pragma once

#include <cstdint>

#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// The call that this thread is in, as far as observers want to know.
struct ThreadCall {
    std::int64_t begin_ns = 0;  ///< when it, or its last operation, was done; 0: not wanted
    std::uint64_t id = 0;       ///< of its next operation; 0: not wanted
    std::uint64_t parent = 0;   ///< the host function that this thread runs, or 0
    WaitReason reason = WaitReason::user;
    std::uint64_t collective = 0;  ///< see OpInfo
    std::uint32_t share = 0, shares = 0;
};
inline constinit thread_local ThreadCall this_call;

/// Returns the id that the call's next operation will have, or 0 if no observer wants to know when
/// that runs. A backend that can measure it calls notify_run() with it.
inline std::uint64_t timed_id() noexcept { return this_call.id; }

/// Like notify(), without a copy: sets what the thread's call says of the operation.
void complete_and_notify(OpInfo& op) noexcept;
/// Tells observers when an operation ran. Thread-safe.
void notify_run(const OpRun& run) noexcept;

/// Gives a reason to the waits and records that this thread makes during its lifetime.
class Because {
public:
    explicit Because(WaitReason reason) noexcept : before_(this_call.reason) {
        this_call.reason = reason;
    }
    ~Because() { this_call.reason = before_; }
    Because(const Because&) = delete;
    Because& operator=(const Because&) = delete;

private:
    WaitReason before_;
};

/// Marks what this thread enqueues during its lifetime as one device's share of a collective.
class ShareMark {
public:
    ShareMark(std::uint64_t collective, std::uint32_t share, std::uint32_t shares) noexcept
        : before_(this_call) {
        this_call.collective = collective;
        this_call.share = share;
        this_call.shares = shares;
    }
    ~ShareMark() {
        this_call.collective = before_.collective;
        this_call.share = before_.share;
        this_call.shares = before_.shares;
    }
    ShareMark(const ShareMark&) = delete;
    ShareMark& operator=(const ShareMark&) = delete;

private:
    ThreadCall before_;
};

/// Marks this thread as running the host function with this id (0: none that observers know).
class RunsHostFunction {
public:
    explicit RunsHostFunction(std::uint64_t id) noexcept : before_(this_call) {
        this_call = {.parent = id};
    }
    ~RunsHostFunction() { this_call = before_; }
    RunsHostFunction(const RunsHostFunction&) = delete;
    RunsHostFunction& operator=(const RunsHostFunction&) = delete;

private:
    ThreadCall before_;
};

}  // namespace heddle::detail
