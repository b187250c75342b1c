#include "core/stream/order.hpp"
#include "core/base/errors.hpp"

#include "core/operation/told_wait.hpp"
#include "core/stream/event_pool.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"
#include <heddle/operation/observer.hpp>

namespace heddle::detail {

namespace {

/// The caller and the reason of a wait.
struct WaitCause {
    const SourceLocation& where;
    WaitReason reason;
};

// The functions that differ between the kinds of targets of a wait: the target's name, its recorded
// work, and how the wait is enqueued.

/// Whether a wait had to be enqueued.
enum class Enqueued : bool { nothing, wait };

WaitNote note_of(StreamRecord& other) noexcept { return {.name = "wait_stream", .other = &other}; }
WaitNote note_of(EventState& event) noexcept { return {.name = "wait_event", .event = &event}; }
WaitNote note_of(const StreamUse& use) noexcept { return note_of(*use.stream); }

bool record_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    return record_stream_wait(waiter, other, where);
}
bool record_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) {
    return record_event_wait(waiter, event, where);
}
/// Flushes the batch that records the stream. A wait for memory joins no recording.
bool record_wait(StreamRecord&, const StreamUse& use, const SourceLocation& where) {
    send_batch_of(*use.stream, where);
    return false;
}

/// Returns whether the waiter's backend can wait natively, without a completion.
bool is_native(WaitPlan plan) noexcept { return plan.verdict.rule == WaitRuleName::needed; }

Enqueued enqueue_wait(WaitPlan plan, StreamRecord& waiter, StreamRecord& other,
                      const SourceLocation& where) {
    if (is_native(plan)) {
        waiter.backend->wait_stream(waiter, other, where);
        return Enqueued::wait;
    }
    EventState& event = take_event(other.device, {}, where);
    try {
        other.backend->record(event, other, where);
        note_record(event, other, other.submissions.load(std::memory_order_acquire), 0, false);
        waiter.backend->wait_completion(waiter, other.backend->completion_of(event, where), where);
    } catch (...) {
        give_event(event);
        throw;
    }
    give_event(event);
    return Enqueued::wait;
}

Enqueued enqueue_wait(WaitPlan plan, StreamRecord& waiter, EventState& event,
                      const SourceLocation& where) {
    if (is_native(plan)) waiter.backend->wait(waiter, event, where);
    else waiter.backend->wait_completion(waiter, event.backend->completion_of(event, where), where);
    return Enqueued::wait;
}

/// Backends enqueue no wait if the stream is idle.
Enqueued enqueue_wait(WaitPlan plan, StreamRecord& waiter, const StreamUse& use,
                      const SourceLocation& where) {
    const std::uint64_t submitted = waiter.submissions.load(std::memory_order_relaxed);
    if (is_native(plan)) {
        waiter.backend->wait_use(waiter, use, where);
    } else {
        CompletionRef done = make_completion();
        use.stream->backend->signal_use(use, done);
        if (!done->is_done() || done->failure() != nullptr)
            waiter.backend->wait_completion(waiter, std::move(done), where);
        else done->see();
    }
    const bool is_same = waiter.submissions.load(std::memory_order_relaxed) == submitted;
    return is_same ? Enqueued::nothing : Enqueued::wait;
}

// Functions shared by all targets.

[[noreturn, gnu::cold]] void refuse(WaitRuleName rule, StreamRecord& waiter, const WaitNote& note,
                                    const SourceLocation& where) {
    const ErrorSite site{note.name, where, waiter};
    if (rule == WaitRuleName::unusable) {
        check_usable(waiter, note.name, where);
        if (note.other != nullptr) check_usable(*note.other, note.name, where);
        throw_dead(note.name, where);
    }
    if (rule == WaitRuleName::event_of_capture)
        usage_error(
            site,
            "this stream cannot wait for the event, because the event was last recorded in {}: "
            "record it after the graph's launch, or with record_external(), which records "
            "it at every launch{}",
            waiter.has(stream_flag::captured)
                ? "another capture, or in the capture around this body"
                : "a capture",
            waiter.has(stream_flag::captured)
                ? "; or make the condition's stream wait for the event before capture_if() "
                  "or capture_while()"
                : "");
    StreamRecord* const source = note.other != nullptr ? note.other : note.event->stream;
    const std::string name = source != nullptr ? source->display_name() : "the event's stream";
    if (rule == WaitRuleName::outside_capture)
        usage_error(
            site,
            "a capturing stream cannot wait for work outside its capture ({} is not capturing): "
            "wait for that work before the capture begins, first add its stream to the capture by "
            "{}.wait_stream(a capturing stream), enter the scope with {{.wait_on_enter = false}}, "
            "or wait for an event at every launch with wait_external()",
            name, name);
    usage_error(site,
                "a capturing stream cannot wait for a stream of another capture, or of the capture "
                "around its body ({}): order the launches of the graphs instead",
                name);
}

/// Notes the work that an enqueued wait covers, and inherits failures that may appear later.
void note_wait(WaitPlan plan, StreamRecord& waiter, StreamRecord& other) {
    if (plan.counts()) waiter.waited.note(plan.stream_id, plan.submissions);
    if (other.has(stream_flag::fallible)) [[unlikely]]
        waiter.depend_on(other, plan.stream_id, plan.submissions);
}
void note_wait(WaitPlan, StreamRecord& waiter, const EventState& event) {
    if (event.outcome != nullptr) [[unlikely]]
        waiter.depend_on(event.outcome, event.submissions);
}
void note_wait(WaitPlan plan, StreamRecord& waiter, const StreamUse& use) {
    note_wait(plan, waiter, *use.stream);
}

[[gnu::cold, gnu::noinline]] void tell(WaitPlan plan, StreamRecord& waiter, WaitNote note,
                                       WaitCause cause, Enqueued enqueued) {
    if (plan.verdict.rule == WaitRuleName::never_recorded)
        note.name = "wait_event (never recorded)";
    // A wait for work that completed before the capture counts as recorded.
    note.is_recorded = plan.verdict.action == WaitAction::record ||
                       plan.verdict.rule == WaitRuleName::nothing_pending;
    note.is_elided = plan.verdict.action == WaitAction::elide && !note.is_recorded;
    note.reason = cause.reason;
    const bool is_empty =
        plan.verdict.action == WaitAction::enqueue && enqueued == Enqueued::nothing;
    const TellsWait mark({.other = plan.stream_id, .had_completed = is_empty});
    notify_wait(waiter, note, cause.where);
}

template <class Target>
[[gnu::cold, gnu::noinline]] void record_or_carry_out(WaitPlan plan, StreamRecord& waiter,
                                                      Target& target, WaitCause cause);

/// Carries out a plan: records or enqueues the wait, notes it, inherits failures, and notifies
/// observers. Call once for each plan. Throws UsageError if the plan refuses the wait.
template <class Target>
[[gnu::always_inline]] inline void carry_out(WaitPlan plan, StreamRecord& waiter, Target& target,
                                             WaitCause cause) {
    Enqueued enqueued = Enqueued::nothing;
    switch (plan.verdict.action) {
    case WaitAction::elide:
        if (!is_observed()) [[likely]]
            return;
        break;
    case WaitAction::enqueue:
        if (plan.is(wait_fact::captured)) waiter.set(stream_flag::capturing);
        enqueued = enqueue_wait(plan, waiter, target, cause.where);
        note_wait(plan, waiter, target);
        break;
    case WaitAction::record: return record_or_carry_out(plan, waiter, target, cause);
    case WaitAction::refuse: refuse(plan.verdict.rule, waiter, note_of(target), cause.where);
    case WaitAction::nothing:
        if (plan.verdict.rule == WaitRuleName::use_ended)
            tsan::acquire(note_of(target).other->end_of_work());
        return;
    }
    if (is_noted()) [[unlikely]]
        tell(plan, waiter, note_of(target), cause, enqueued);
}

template <class Target>
void record_or_carry_out(WaitPlan plan, StreamRecord& waiter, Target& target, WaitCause cause) {
    if (record_wait(waiter, target, cause.where)) {
        if (is_noted()) tell(plan, waiter, note_of(target), cause, Enqueued::nothing);
        return;
    }
    carry_out(decide_wait(waiter, target, cause.where, Recorders::asked), waiter, target, cause);
}

}  // namespace

void order_after_stream(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                        WaitReason reason) {
    carry_out(decide_wait(waiter, other, where), waiter, other, {where, reason});
}

void order_after_enqueued(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    carry_out(decide_wait(waiter, EnqueuedWork{&other}, where), waiter, other,
              {where, WaitReason::batch});
}

void order_beside_recorders(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                            WaitReason reason) {
    send_batch_of(waiter, where);
    const EnqueuedWork work{.stream = &other, .is_asked_for = true};
    carry_out(decide_wait(waiter, work, where), waiter, other, {where, reason});
}

void order_after_branch(StreamRecord& waiter, const BranchEnd& branch,
                        const SourceLocation& where) {
    carry_out(decide_wait(waiter, branch, where), waiter, *branch.stream,
              {where, WaitReason::join});
}

void order_after_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where,
                     WaitReason reason) {
    carry_out(decide_wait(waiter, use, where), waiter, use, {where, reason});
}

void order_after_event(StreamRecord& waiter, EventState& event, const SourceLocation& where,
                       WaitReason reason) {
    carry_out(decide_wait(waiter, event, where), waiter, event, {where, reason});
}

void note_record(EventState& event, StreamRecord& stream, std::uint64_t submitted,
                 std::uint64_t capture, bool countable) {
    event.recorded = true;
    event.stream = &stream;
    event.stream_id = stream.id.load(std::memory_order_relaxed);
    event.submissions = submitted;
    event.capture_id = capture;
    event.countable = countable && !event.handed_out;
    if (stream.device.is_cuda() && stream.has(stream_flag::poisoned | stream_flag::fallible))
        [[unlikely]]
        event.outcome = stream.current_outcome();
    else if (event.outcome != nullptr) [[unlikely]] event.outcome = nullptr;
}

void record_event(EventState& event, StreamRecord& stream, const SourceLocation& where) {
    record_event(event, stream, false, where);
}

void record_event(EventState& event, StreamRecord& stream, bool external,
                  const SourceLocation& where) {
    const bool careful = stream.has(stream_flag::slow_order);
    if (careful) [[unlikely]]
        check_usable(stream, "record_event", where);
    if (event.device != stream.device)
        throw_wrong_event({"record_event", where, stream}, event.device,
                          "make one with Event(stream.device()) or stream.record_event()");
    if ((event.recorder.load(std::memory_order_acquire) != nullptr ||
         stream.has(stream_flag::recording)) &&
        record_event_point(event, stream, external, where)) [[unlikely]] {
        note_point(event, stream);
        if (is_noted()) notify_record(stream, event, where, true);
        return;
    }
    const bool open = !careful || !stream.has(stream_flag::unseen | stream_flag::capturing);
    const std::uint64_t capture = open ? 0 : open_capture_of(stream);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    if (!careful || !is_lost(stream)) [[likely]]
        event.backend->record(event, stream, where);
    note_record(event, stream, submitted, capture, open);
    note_point(event, stream);
    if (is_noted()) notify_record(stream, event, where, false);
}

}  // namespace heddle::detail
