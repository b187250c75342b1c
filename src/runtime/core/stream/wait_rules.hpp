// The rules by which waits are elided, recorded, refused or enqueued: one table. The facts about a
// wait are collected in core/stream/wait_plan.hpp. (docs/adr/0049)
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace heddle::detail {

/// The decision about a wait.
enum class WaitAction : std::uint8_t {
    enqueue,  ///< enqueue a wait on the waiter
    elide,    ///< enqueue nothing: the order exists already; reported to observers
    nothing,  ///< enqueue and report nothing
    record,   ///< let the recorders put the wait on a tape; if none does, decide again
    refuse,   ///< throw an error
};

/// The reason for a WaitAction: the name of the rule (below) that decided it.
enum class WaitRuleName : std::uint8_t {
    unusable,
    same_stream,
    never_recorded,
    own_use,
    use_of_parent,
    empty_branch,
    recorded,
    use_ended,
    event_of_capture,
    nothing_pending,
    device_lost,
    outside_capture,
    other_capture,
    own_event,
    covered,
    across_kinds,
    needed,
};

/// The known facts about a wait, one bit each. If one fact decides alone, only its bit is set.
namespace wait_fact {
/// The waiter or the target is dead or belongs to the parent process.
inline constexpr std::uint32_t unusable = 1u << 0;
/// The user asked a stream to wait for itself.
inline constexpr std::uint32_t same_stream = 1u << 1;
/// The event was never recorded.
inline constexpr std::uint32_t never_recorded = 1u << 2;
/// The waiter itself is the stream that used the memory.
inline constexpr std::uint32_t own_use = 1u << 3;
/// The stream that used the memory belongs to the parent process.
inline constexpr std::uint32_t use_of_parent = 1u << 4;
/// The branch of a fork_join enqueued nothing, and the waiter has waited for the earlier work of
/// the branch's stream.
inline constexpr std::uint32_t empty_branch = 1u << 5;
/// A recorder records the waiter or the target, and has not been asked.
inline constexpr std::uint32_t recorded = 1u << 6;
/// The stream that used the memory has ended: its record belongs to another stream.
inline constexpr std::uint32_t use_ended = 1u << 7;
/// The event's newest record was made in one of heddle's captures, and the waiter is not in that
/// capture.
inline constexpr std::uint32_t event_of_capture = 1u << 8;
/// One of heddle's captures records the waiter, and all work that it would wait for has completed
/// without a failure.
inline constexpr std::uint32_t nothing_pending = 1u << 9;
/// The waiter's device is lost.
inline constexpr std::uint32_t device_lost = 1u << 10;
/// The waiter is in a capture, and the target is not in that capture.
inline constexpr std::uint32_t outside = 1u << 11;
/// With `outside`: the target is in another capture.
inline constexpr std::uint32_t elsewhere = 1u << 12;
/// The waiter made the event's newest record.
inline constexpr std::uint32_t own_event = 1u << 13;
/// The waiter has waited for all submissions of the target, as far as they are counted.
inline constexpr std::uint32_t covered = 1u << 14;
/// The target may have work that its count of submissions does not show.
inline constexpr std::uint32_t uncounted = 1u << 15;
/// The waiter or the target is in a capture: order that was made outside that capture does not
/// count.
inline constexpr std::uint32_t captured = 1u << 16;
/// The user asked for the wait, and a failure of the target is known.
inline constexpr std::uint32_t failed = 1u << 17;
/// The target belongs to a device of another kind.
inline constexpr std::uint32_t other_kind = 1u << 18;
inline constexpr std::uint32_t count = 19;
}  // namespace wait_fact

/// Applies if all facts of `needs` are known and none of `unless`.
struct WaitRule {
    WaitRuleName name;
    WaitAction action;
    std::uint32_t needs;
    std::uint32_t unless = 0;
    constexpr bool applies(std::uint32_t facts) const noexcept {
        return (facts & (needs | unless)) == needs;
    }
};

/// The rules: the first one that applies decides.
inline constexpr WaitRule wait_rules[] = {
    // A dead stream has no native stream. A stream of the parent process has no threads here.
    {WaitRuleName::unusable, WaitAction::refuse, wait_fact::unusable},
    // A stream runs its work in order.
    {WaitRuleName::same_stream, WaitAction::elide, wait_fact::same_stream},
    // An event that was never recorded counts as complete, as in CUDA.
    {WaitRuleName::never_recorded, WaitAction::elide, wait_fact::never_recorded},
    // A stream runs its work in order. The user did not request this wait, so it is not reported.
    {WaitRuleName::own_use, WaitAction::nothing, wait_fact::own_use},
    // The parent's work uses the parent's copy of the memory, and continues only there.
    {WaitRuleName::use_of_parent, WaitAction::nothing, wait_fact::use_of_parent},
    // The waiter is ordered after all work of the branch's stream. Waits in the branch may have
    // been elided because of earlier work of its stream. Therefore, the waiter must be ordered
    // after that work.
    {WaitRuleName::empty_branch, WaitAction::nothing, wait_fact::empty_branch},
    // Recorded work is not in the stream's count yet. Its recorder adds an edge, or enqueues the
    // work that must precede this wait.
    {WaitRuleName::recorded, WaitAction::record, wait_fact::recorded},
    // A record is reused once all work of its stream has completed.
    {WaitRuleName::use_ended, WaitAction::nothing, wait_fact::use_ended},
    // The event marks a point of a graph, not of a stream.
    {WaitRuleName::event_of_capture, WaitAction::refuse, wait_fact::event_of_capture},
    // Work that has already completed precedes every launch of the graph.
    {WaitRuleName::nothing_pending, WaitAction::elide, wait_fact::nothing_pending},
    // Nothing can be enqueued any more, and all later work throws DeviceLost.
    {WaitRuleName::device_lost, WaitAction::nothing, wait_fact::device_lost},
    // The graph's launches would not wait, and the capture would become invalid.
    {WaitRuleName::outside_capture, WaitAction::refuse, wait_fact::outside, wait_fact::elsewhere},
    // The order between two graphs is that of their launches.
    {WaitRuleName::other_capture, WaitAction::refuse, wait_fact::outside | wait_fact::elsewhere},
    // A stream runs its work in order, and the event marks a point in it. If the event's handle was
    // handed out, foreign code may have recorded the event again. Events are not elided by
    // counting: see docs/adr/0002.
    {WaitRuleName::own_event, WaitAction::elide, wait_fact::own_event,
     wait_fact::uncounted | wait_fact::captured},
    // The stream has enqueued nothing since the waiter waited for it. A known failure must still be
    // inherited, even if the waiter's own failure has been cleared since. Waits that heddle makes
    // by itself inherit no failure.
    {WaitRuleName::covered, WaitAction::elide, wait_fact::covered,
     wait_fact::uncounted | wait_fact::captured | wait_fact::failed},
    // Backends wait for their own work natively, and for other backends' work through a completion.
    {WaitRuleName::across_kinds, WaitAction::enqueue, wait_fact::other_kind},
    {WaitRuleName::needed, WaitAction::enqueue, 0},
};

/// A rule's decision.
struct WaitVerdict {
    WaitAction action;
    WaitRuleName rule;
};
/// Returns the decision of the first rule that applies. The loop is unrolled, so a caller that
/// knows most facts at compile time contains only the rules that depend on the other facts.
template <std::size_t from = 0>
[[gnu::always_inline]] constexpr WaitVerdict verdict_on(std::uint32_t facts) noexcept {
    constexpr const WaitRule& rule = wait_rules[from];
    if constexpr (from + 1 == std::size(wait_rules)) {
        static_assert((rule.needs | rule.unless) == 0, "the last rule takes what is left");
        return {rule.action, rule.name};
    } else {
        if (rule.applies(facts)) return {rule.action, rule.name};
        return verdict_on<from + 1>(facts);
    }
}

}  // namespace heddle::detail
