#include "core/stream/wait_plan.hpp"

#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {

bool is_unusable(StreamRecord& stream) noexcept {
    return stream.has(stream_flag::dead | stream_flag::forked);
}

/// Returns whether waiting for the stream would have no effect. The stream is in no capture.
bool has_nothing_pending(StreamRecord& stream, const SourceLocation& where) {
    return !stream.has(stream_flag::recording | stream_flag::poisoned) && is_idle(stream, where);
}
bool has_nothing_pending(EventState& event, const SourceLocation& where) {
    return event.backend->is_complete(event, where) && event.backend->failure_of(event) == nullptr;
}

/// Returns the facts about captures for a wait of `waiter`. `theirs` is the target's capture, or 0.
template <class Target>
std::uint32_t facts_of_captures(StreamRecord& waiter, Target& target, std::uint64_t theirs,
                                const SourceLocation& where) {
    const std::uint64_t mine = open_capture_of(waiter);
    std::uint32_t facts = (mine | theirs) != 0 ? wait_fact::captured : 0;
    if (mine == 0 || mine == theirs) return facts;
    facts |= wait_fact::outside;
    if (theirs != 0) facts |= wait_fact::elsewhere;
    else if (is_captured(waiter) && has_nothing_pending(target, where))
        facts |= wait_fact::nothing_pending;
    return facts;
}

}  // namespace

std::uint64_t find_capture_of(StreamRecord& stream) {
    if (stream.has(stream_flag::recording)) return is_captured(stream) ? recorder_id(stream) : 0;
    if (!stream.has(stream_flag::capturing | stream_flag::unseen)) return 0;
    const std::uint64_t id = stream.backend->capture_id(stream);
    if (id != 0) stream.set(stream_flag::capturing);
    else if (stream.has(stream_flag::capturing)) stream.clear(stream_flag::capturing);
    return id;
}

WaitPlan decide_carefully(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                          Recorders recorders) {
    if (is_unusable(waiter) || is_unusable(other)) return plan_of(wait_fact::unusable);
    const std::uint32_t flags =
        waiter.flags.load(std::memory_order_acquire) | other.flags.load(std::memory_order_acquire);
    const std::uint64_t id = other.id.load(std::memory_order_relaxed);
    if (recorders == Recorders::to_ask && (flags & stream_flag::recording) != 0)
        return plan_of(wait_fact::recorded);
    std::uint32_t facts = is_lost(waiter) ? wait_fact::device_lost : 0;
    // A lost device is not queried for a capture.
    if (facts != 0 && !is_captured(waiter)) return plan_of(facts);
    facts |= facts_of_captures(waiter, other, open_capture_of(other), where);
    if (other.has(stream_flag::unseen)) facts |= wait_fact::uncounted;
    const WaitPlan plan = decide_by_count(waiter, other, id, facts);
    const bool may_have_failed = (flags & (stream_flag::poisoned | stream_flag::fallible)) != 0;
    if (plan.verdict.rule != WaitRuleName::covered || !may_have_failed ||
        other.known_failure() == nullptr)
        return plan;
    facts |= plan.facts | wait_fact::failed;
    if (waiter.backend != other.backend) facts |= wait_fact::other_kind;
    return plan_of(facts, id, plan.submissions);
}

WaitPlan decide_carefully(StreamRecord& waiter, EventState& event, const SourceLocation& where,
                          Recorders recorders) {
    if (is_unusable(waiter)) return plan_of(wait_fact::unusable);
    if (!event.is_recorded()) return plan_of(wait_fact::never_recorded);
    if (recorders == Recorders::to_ask &&
        (event.recorder.load(std::memory_order_acquire) != nullptr ||
         waiter.has(stream_flag::recording)))
        return plan_of(wait_fact::recorded);
    if (is_recorder_id(event.capture_id) && open_capture_of(waiter) != event.capture_id)
        return plan_of(wait_fact::event_of_capture);
    const std::uint32_t lost = is_lost(waiter) ? wait_fact::device_lost : 0;
    if (lost != 0 && !is_captured(waiter)) return plan_of(lost);
    return plan_of(lost | facts_of(waiter, event) |
                   facts_of_captures(waiter, event, event.capture_id, where));
}

WaitPlan decide_wait(StreamRecord& waiter, const StreamUse& use, const SourceLocation&,
                     Recorders recorders) {
    StreamRecord& other = *use.stream;
    if (&other == &waiter && use.is_same()) return plan_of(wait_fact::own_use);
    if (other.has(stream_flag::forked)) return plan_of(wait_fact::use_of_parent);
    // Considers the outermost recorder, too: it may be a batch, although a capture records the
    // stream now.
    if (recorders == Recorders::to_ask &&
        other.outermost.load(std::memory_order_acquire) != nullptr) [[unlikely]]
        return plan_of(wait_fact::recorded);
    const std::uint32_t facts = other.has(stream_flag::unseen) ? wait_fact::uncounted : 0;
    const WaitPlan plan = decide_by_count(waiter, other, use.id, facts);
    // Checked after the count was read, because the count may belong to another stream.
    return use.is_same() ? plan : plan_of(wait_fact::use_ended);
}

WaitPlan decide_wait(StreamRecord& waiter, const BranchEnd& branch, const SourceLocation& where,
                     Recorders recorders) {
    StreamRecord& other = *branch.stream;
    // In a capture empty branches have to be joined too.
    constexpr std::uint32_t not_known = stream_flag::capturing | stream_flag::recording |
                                        stream_flag::unseen | stream_flag::fallible;
    if (recorders == Recorders::to_ask && other.submissions.load() == branch.begun &&
        waiter.waited.covers(other.id.load(), branch.before) && !other.has(not_known))
        return plan_of(wait_fact::empty_branch);
    return decide_wait(waiter, other, where, recorders);
}

WaitPlan decide_wait(StreamRecord& waiter, const EnqueuedWork& work, const SourceLocation&,
                     Recorders) {
    StreamRecord& other = *work.stream;
    const std::uint64_t id = other.id.load(std::memory_order_relaxed);
    std::uint32_t facts = other.has(stream_flag::unseen) ? wait_fact::uncounted : 0;
    if (work.is_asked_for) {
        if (is_unusable(waiter) || is_unusable(other)) return plan_of(wait_fact::unusable);
        if (is_lost(waiter)) return plan_of(wait_fact::device_lost);
        if (other.has(stream_flag::poisoned | stream_flag::fallible) &&
            other.known_failure() != nullptr)
            facts |= wait_fact::failed;
    }
    return decide_by_count(waiter, other, id, facts);
}

}  // namespace heddle::detail
