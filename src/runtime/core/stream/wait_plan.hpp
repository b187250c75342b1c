// Decides whether a wait is needed, and how it is made. Nothing here enqueues a wait, notifies
// observers or throws: core/stream/order.cpp carries the plan out. (docs/adr/0049)
#pragma once

#include <cstdint>

#include "core/seam/backend.hpp"
#include "core/seam/records.hpp"
#include "core/stream/wait_rules.hpp"

namespace heddle::detail {

/// The decision about one wait.
struct WaitPlan {
    WaitVerdict verdict;
    std::uint32_t facts;
    /// The stream that is waited for, and its number of submissions. Read before the wait is
    /// enqueued: the waiter must not note more than the wait covers. 0 for events.
    std::uint64_t stream_id;
    std::uint64_t submissions;

    constexpr bool is(std::uint32_t fact) const noexcept { return (facts & fact) != 0; }
    /// Returns whether this wait can make a later one redundant.
    constexpr bool counts() const noexcept {
        return stream_id != 0 && !is(wait_fact::uncounted | wait_fact::captured);
    }
};
[[gnu::always_inline]] constexpr WaitPlan plan_of(std::uint32_t facts, std::uint64_t stream_id = 0,
                                                  std::uint64_t submissions = 0) noexcept {
    return {verdict_on(facts), facts, stream_id, submissions};
}

/// Returns the same plan. The compiler keeps a plan in registers only if all calls that return it
/// are inlined. Otherwise the elided wait would cost a tenth more.
[[gnu::always_inline]] constexpr WaitPlan in_registers(const WaitPlan& plan) noexcept {
    return {plan.verdict, plan.facts, plan.stream_id, plan.submissions};
}

/// Whether the recorders of the two sides have been asked, and recorded nothing.
enum class Recorders : std::uint8_t { to_ask, asked };

/// Work that has been enqueued natively on a stream, regardless of recorded work.
struct EnqueuedWork {
    StreamRecord* stream;
    /// Whether the user requested the wait: then dead streams and known failures matter.
    bool is_asked_for = false;
};
/// A branch of a fork_join that ends: its stream, and the stream's submission counts before the
/// fork and when the branch began.
struct BranchEnd {
    StreamRecord* stream;
    std::uint64_t before;
    std::uint64_t begun;
};

// Each decides about a wait of `waiter` for the target. They enqueue nothing and notify no
// observer. If the wait is not allowed, they do not throw, but return a plan with
// WaitAction::refuse. They may query the driver, which may fail, and store the answer in flags
// `capturing` and `poisoned`. Thread-safe.

WaitPlan decide_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                     Recorders recorders = Recorders::to_ask);
WaitPlan decide_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where,
                     Recorders recorders = Recorders::to_ask);
WaitPlan decide_wait(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where,
                     Recorders recorders = Recorders::to_ask);
WaitPlan decide_wait(StreamRecord& waiter, const BranchEnd& branch, const SourceLocation& where,
                     Recorders recorders = Recorders::to_ask);
WaitPlan decide_wait(StreamRecord& waiter, const EnqueuedWork& work, const SourceLocation& where,
                     Recorders recorders = Recorders::to_ask);

/// Implements open_capture_of() for streams that may be in a capture.
std::uint64_t find_capture_of(StreamRecord& stream);
/// Returns the id of the capture that the stream takes part in, heddle's or a native one, or 0.
inline std::uint64_t open_capture_of(StreamRecord& stream) {
    constexpr std::uint32_t maybe =
        stream_flag::recording | stream_flag::capturing | stream_flag::unseen;
    return stream.has(maybe) ? find_capture_of(stream) : 0;
}

/// Implement decide_wait() for streams with a flag of slow_order, and for events of captures.
WaitPlan decide_carefully(StreamRecord& waiter, EventState& event, const SourceLocation& where,
                          Recorders recorders);
WaitPlan decide_carefully(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                          Recorders recorders);

/// Decides by the count of submissions and these additional facts.
[[gnu::always_inline]] inline WaitPlan decide_by_count(StreamRecord& waiter, StreamRecord& other,
                                                       std::uint64_t stream_id,
                                                       std::uint32_t facts = 0) noexcept {
    const std::uint64_t submissions = other.submissions.load(std::memory_order_acquire);
    if (waiter.waited.covers(stream_id, submissions)) {
        if (facts == 0) return plan_of(wait_fact::covered, stream_id, submissions);
        facts |= wait_fact::covered;
    }
    if (waiter.backend != other.backend) facts |= wait_fact::other_kind;
    return plan_of(facts, stream_id, submissions);
}

[[gnu::always_inline]] inline WaitPlan decide_wait(StreamRecord& waiter, StreamRecord& other,
                                                   const SourceLocation& where,
                                                   Recorders recorders) {
    if (&waiter == &other)
        return plan_of(waiter.has(stream_flag::dead) ? wait_fact::unusable
                                                     : wait_fact::same_stream);
    // Acquire: a thread that sees that a loan has ended also sees the loan's work counted.
    const std::uint32_t flags =
        waiter.flags.load(std::memory_order_relaxed) | other.flags.load(std::memory_order_acquire);
    if ((flags & stream_flag::slow_order) != 0) [[unlikely]]
        return in_registers(decide_carefully(waiter, other, where, recorders));
    return decide_by_count(waiter, other, other.id.load(std::memory_order_relaxed));
}

/// Returns the facts about a wait for the event, except those that depend on recorders and
/// captures.
[[gnu::always_inline]] inline std::uint32_t facts_of(const StreamRecord& waiter,
                                                     const EventState& event) noexcept {
    const bool is_own =
        event.stream == &waiter && event.stream_id == waiter.id.load(std::memory_order_relaxed);
    return (is_own ? wait_fact::own_event : 0) | (event.countable ? 0 : wait_fact::uncounted) |
           (waiter.backend == event.backend ? 0 : wait_fact::other_kind);
}

[[gnu::always_inline]] inline WaitPlan decide_wait(StreamRecord& waiter, EventState& event,
                                                   const SourceLocation& where,
                                                   Recorders recorders) {
    if (waiter.has(stream_flag::slow_order) ||
        event.recorder.load(std::memory_order_acquire) != nullptr || event.capture_id != 0)
        [[unlikely]]
        return in_registers(decide_carefully(waiter, event, where, recorders));
    if (!event.recorded) [[unlikely]]
        return plan_of(wait_fact::never_recorded);
    return plan_of(facts_of(waiter, event));
}

}  // namespace heddle::detail
