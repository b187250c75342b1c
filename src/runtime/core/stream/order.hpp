// Order between streams and events: records, and waits, which are elided where they are redundant.
// The rules for waits are in core/stream/wait_plan.hpp.
#pragma once

#include "core/base/errors.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/wait_plan.hpp"
#include <heddle/operation/observer.hpp>

namespace heddle::detail {

// Each function reports the wait and its reason to observers.

/// Implements StreamRef::wait_stream(): orders work enqueued on `waiter` from now on after all work
/// already enqueued on `other`. Throws UsageError if a capture forbids it.
void order_after_stream(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                        WaitReason reason = WaitReason::user);
/// Makes the native stream of `waiter` wait for the work already enqueued on the native stream of
/// `other`, even while a capture or batch records one of them. Does not wait for recorded work.
void order_after_enqueued(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);
/// Like order_after_enqueued(), for a wait that the user requested. Other threads may record
/// `waiter`. Flushes a batch first. Does not change a capture.
void order_beside_recorders(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                            WaitReason reason);
/// Orders `waiter`, the base of a fork_join, after one of its branches. Has no effect if the branch
/// had no work.
void order_after_branch(StreamRecord& waiter, const BranchEnd& branch, const SourceLocation& where);
/// Adds a wait that heddle needs itself. The stream of `use` may be open, closed or ended, or
/// belong to another thread. Flushes a batch that records the stream. For a captured stream, waits
/// only for enqueued work, not for recorded work. `waiter` joins no capture or batch.
void order_after_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where,
                     WaitReason reason);
/// Implements StreamRef::wait_event(): orders work enqueued on `waiter` from now on after the
/// event's newest record. Throws UsageError if a capture forbids it.
void order_after_event(StreamRecord& waiter, EventState& event, const SourceLocation& where,
                       WaitReason reason = WaitReason::user);

/// Records `event` on `stream` and notes the record in the event. Throws UsageError if they are of
/// different devices.
void record_event(EventState& event, StreamRecord& stream, const SourceLocation& where);

/// Notes in the event that it was recorded on `stream`, with the stream's submission count at the
/// record. `capture`: the capture in which it was recorded, or 0. `countable`: see EventState.
void note_record(EventState& event, StreamRecord& stream, std::uint64_t submitted,
                 std::uint64_t capture, bool countable);

/// Works like the first record_event(). If `external` is true, a capture records the event as a
/// node of the graph.
void record_event(EventState& event, StreamRecord& stream, bool external,
                  const SourceLocation& where);

}  // namespace heddle::detail
