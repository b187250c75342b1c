#include "core/recording/batch_recorder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <heddle/operation/observer.hpp>

#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "core/failure/failure.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"

namespace heddle::detail {

namespace {
constinit RecorderPool<BatchRecorder> batches;
// Each part takes the device about as long as recording and changing the next one takes the host:
// docs/adr/0080.
constexpr std::size_t growth = 4, most_parts = 4;
constexpr std::size_t whole = std::numeric_limits<std::size_t>::max();
const ForkRegistration batch_recorders_registered{ForkOrder::batch_recorders, batches.lock()};
}  // namespace

BatchRecorder& BatchRecorder::start(StreamRecord& stream, BatchRun& run,
                                    const SourceLocation& where) {
    BatchRecorder& batch = batches.take();
    {
        // The recorder may have been used by an earlier batch, so other threads may still access
        // it.
        const std::lock_guard guard(batch.lock);
        batch.run_ = &run;
        batch.part_size_ = run.flush_after != 0 ? run.flush_after : whole;
        batch.parts_so_far_ = 1;
    }
    {
        const std::lock_guard guard(batch.kept_lock_);
        batch.keeps_ = true;
    }
    try {
        batch.begin(stream, where);
    } catch (...) {
        {
            const std::lock_guard guard(batch.lock);
            batch.run_ = nullptr;
        }
        finish(batch, where);
        throw;
    }
    return batch;
}

void BatchRecorder::finish(BatchRecorder& batch, const SourceLocation& where) {
    std::exception_ptr failure;
    {
        batch.lock.lock();
        const Recorded held(batch);
        try {
            batch.flush(where);
        } catch (...) {
            failure = std::current_exception();
        }
        batch.tell_abandoned(where);
        // The lock is still held, so no operation is recorded after the flush.
        batch.end();
        batch.run_ = nullptr;
        {
            const std::lock_guard guard(batch.kept_lock_);
            batch.keeps_ = false;
        }
        batch.collect_kept();
    }
    batches.give(batch);
    if (failure != nullptr) std::rethrow_exception(failure);
}

void BatchRecorder::tell_abandoned(const SourceLocation& where) noexcept {
    // If the batch could not begin, it has no tape.
    if (!is_observed() || !tape || tape->is_empty()) [[likely]]
        return;
    notify({.kind = OpKind::abandon,
            .name = "batch",
            .device = device,
            .recording = id.load(std::memory_order_relaxed),
            .where = where});
}

/// Moves all blocks that keep() has stored so far to `garbage`.
void BatchRecorder::collect_kept() noexcept {
    const std::lock_guard guard(kept_lock_);
    Block** last = &garbage.blocks;
    while (*last != nullptr) last = &(*last)->next_kept;
    *last = std::exchange(kept_, nullptr);
    garbage.sent = this;
}

StreamRecord* BatchRecorder::origin() const noexcept {
    return participants.empty() ? nullptr : participants[0].stream;
}

bool BatchRecorder::takes_part(const Participant& one) const noexcept {
    return one.stream != nullptr && one.stream->recorder.load(std::memory_order_relaxed) == this;
}

const Recorder::Participant* BatchRecorder::base_of(const Participant& one) const noexcept {
    if (one.base_id == 0 || one.base_participant >= participants.size()) return nullptr;
    const Participant& base = participants[one.base_participant];
    return base.stream_id == one.base_id && takes_part(base) ? &base : nullptr;
}

/// Returns whether no work was natively enqueued on the stream since it joined, or since the last
/// flush if that was later. Such work exists if another thread read the stream's flags before the
/// stream joined.
bool BatchRecorder::is_clean(StreamRecord& stream) noexcept {
    return stream.participant == 0 ||
           participant(stream).submitted == stream.submissions.load(std::memory_order_acquire);
}

/// Returns whether the stream's submissions, up to the passed count, are ordered before all further
/// work of the batch's first stream. If these submissions can still fail, `past` identifies them.
bool BatchRecorder::is_ordered_before(StreamRecord& stream, std::uint64_t submitted,
                                      StreamPart::Past& past, const SourceLocation& where) {
    if (submitted == 0) return true;
    past.outcome = stream.fallible_outcome();
    past.submissions = submitted;
    const std::uint64_t origin_id = origin()->id.load(std::memory_order_relaxed);
    {
        const std::lock_guard life(stream.life);
        if (stream.ordered_up_to == submitted) past.reached = stream.ordered_end;
        if (stream.ordered_before == origin_id && stream.ordered_up_to == submitted) return true;
    }
    if (!origin()->waited.covers(stream.id.load(std::memory_order_relaxed), submitted) &&
        !stream.backend->is_complete(stream, where))
        return false;
    note_ordered(stream, submitted, past.reached);
    return true;
}

/// Records that the stream's submissions, up to the passed count, are ordered before all further
/// work of the batch's first stream.
void BatchRecorder::note_ordered(StreamRecord& stream, std::uint64_t submitted,
                                 CompletionRef reached) noexcept {
    {
        const std::lock_guard life(stream.life);
        stream.ordered_up_to = submitted;
        stream.ordered_before = origin()->id.load(std::memory_order_relaxed);
        std::swap(stream.ordered_end, reached);
    }
    if (reached) garbage.pasts.push_back({nullptr, 0, std::move(reached)});
}

bool BatchRecorder::accept(StreamRecord& stream, Wants wants, const char*,
                           const SourceLocation& where) {
    // During a loan, native work may still be enqueued on the stream.
    if (wants == Wants::nothing && is_clean(stream) && !stream.has(stream_flag::lending)) {
        if (tape->size() < part_size_ || participants.size() != 1 || !marks.empty()) [[likely]]
            return true;
        flush_part(where);
        return stream.recorder.load(std::memory_order_relaxed) == this;
    }
    step_aside(stream, where);
    return false;
}

/// Flushes a part of a long scope on one stream. Without memory for that, the scope's other work is
/// one part.
void BatchRecorder::flush_part(const SourceLocation& where) noexcept {
    const bool is_last = parts_so_far_ + 1 >= most_parts || part_size_ > whole / growth;
    part_size_ = is_last ? whole : part_size_ * growth;
    try {
        flush(where);
        run_->parts = std::max(run_->parts, ++parts_so_far_);
    } catch (...) {
        part_size_ = whole;  // everything is still recorded: the end of the scope tries again
    }
}

void BatchRecorder::step_aside(StreamRecord& stream, const SourceLocation& where) {
    flush(where);
    if (stream.recorder.load(std::memory_order_relaxed) == this && stream.participant != 0)
        detach(participant(stream));
}

/// Flushes if the first stream leaves, because the batch cannot record without it. Also flushes if
/// the leaving stream has recorded work, for three reasons: the stream must not end before that
/// work, it must receive the work's failure, and waits for its device must cover the work.
void BatchRecorder::leave(StreamRecord& stream) noexcept {
    const bool is_origin = stream.participant == 0;
    if (is_origin || !participant(stream).at.last_ops.empty()) {
        try {
            flush({});
        } catch (...) {
            report(std::current_exception());
        }
    }
    if (is_origin) {
        tell_abandoned({});
        for (Participant& each : participants) detach(each);
    } else if (stream.recorder.load(std::memory_order_relaxed) == this) {
        detach(participant(stream));
    }
}

/// Does not flush if `base` has joined the branch: then `base` receives the branch's failures, and
/// counts as a user of the branch's arrays.
void BatchRecorder::leave_joined(StreamRecord& stream, StreamRecord& base) noexcept {
    Participant& one = participant(stream);
    const Participant* const joined_by = base_of(one);
    if (joined_by != nullptr && joined_by->stream == &base) detach(one);
    else leave(stream);
}

/// The first stream never leaves early, because the batch runs on it.
void BatchRecorder::leave_when_sent(StreamRecord& stream) noexcept {
    Participant& one = participant(stream);
    const auto own = static_cast<std::uint32_t>(stream.participant);
    const bool has_unsent =
        !one.at.last_ops.empty() ||
        std::ranges::any_of(one.at.begins, [own](auto i) { return i != own; }) || one.at.allocated;
    if (stream.participant == 0 || has_unsent) one.leaves = true;
    else detach(one);
}

bool BatchRecorder::join(StreamRecord& stream, const Point& point, const char*,
                         const SourceLocation& where) {
    StreamRecord* const first = origin();
    if (first == nullptr || !is_mine() || stream.backend != first->backend ||
        stream.has(stream_flag::recording) || !is_recordable(stream) ||
        (stream.has(stream_flag::fallible) && stream.known_failure() != nullptr))
        return false;
    garbage.reserve(1);
    StreamPart::Past past;
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    if (!is_ordered_before(stream, submitted, past, where)) return false;
    Point at = point;
    if (submitted != 0) merge(at.begins, {static_cast<std::uint32_t>(participants.size())});
    if (!attach(stream, std::move(at), nullptr, where)) return false;
    participants.back().past = std::move(past);
    if (participants.back().submitted == submitted) return true;
    detach(participants.back());  // another thread has enqueued work since
    participants.pop_back();
    return false;
}

void BatchRecorder::wait_inside(StreamRecord& waiter, StreamRecord* other, const Point& point,
                                const SourceLocation& where) {
    // Only the first stream can be lent while it takes part. The loan's work is not on the tape,
    // but precedes the tape's work, in the order of that stream.
    const bool is_lent = origin() != nullptr && origin()->has(stream_flag::lending);
    // If work was natively enqueued on one of the streams, a flush is needed: it orders all
    // participants after that work.
    const bool is_clean_wait = is_clean(waiter) && (other == nullptr || is_clean(*other));
    if (is_lent || is_clean_wait) merge(participant(waiter).at, point);
    if (is_lent || !is_clean_wait) flush(where);
}

/// Appends operations that were not recorded but that the launch needs.
void BatchRecorder::complete_tape(const SourceLocation& where) {
    // Makes a node for each mark of a live event. After the launch, waits need a real record.
    for (Mark& mark : marks) {
        if (mark.op >= 0) mark.node = static_cast<std::uint32_t>(mark.op);
        if (mark.event == nullptr || mark.op >= 0) continue;
        mark.node = tape->add(NodeKind::record_event, mark.event->device, mark.at.last_ops, {});
        tape->set_event(mark.node, mark.event);
        for (const std::uint32_t part : mark.at.begins) begins.push_back({mark.node, part});
    }
    if (!tape->is_empty()) return;
    // An empty tape must be launched in three cases. A stream has waited for earlier work of
    // another stream. A stream uses memory that the first stream has allocated. Or another thread
    // has enqueued work that must precede the next operations.
    for (std::uint32_t i = 0; i < participants.size(); ++i) {
        if (i != 0 && !takes_part(participants[i])) continue;
        if (is_clean(*participants[i].stream) && (i == 0 || !participants[i].at.allocated) &&
            std::ranges::all_of(participants[i].at.begins, [i](auto one) { return one == i; }))
            continue;
        tape->add(NodeKind::empty, device, {}, where);
        return;
    }
}

/// Updates a participant other than the first after its part was launched.
void BatchRecorder::note_part_sent(Participant& one, StreamPart& part, const StreamPart& first,
                                   const SourceLocation& where) noexcept {
    StreamRecord &stream = *one.stream, &origin = *first.stream;
    // If this part is ordered after everything in the first part, the stream need not wait for the
    // first stream again.
    if (std::ranges::includes(part.last_ops, first.last_ops) &&
        std::ranges::includes(part.begins, first.begins))
        stream.waited.note(origin.id.load(std::memory_order_relaxed), part.first_submitted);
    one.past.reached = std::move(part.after);
    if (!one.past.reached) {
        one.past.outcome = stream.fallible_outcome();
        one.past.submissions = one.submitted;
    }
    note_ordered(stream, one.submitted, one.past.reached);
    if (is_observed())
        notify_wait(stream, {.name = "wait_stream", .other = &origin, .reason = WaitReason::batch},
                    where);
}

/// Updates all participants after the tape was launched. Their further work is ordered after it.
void BatchRecorder::note_sent(StreamRecord& first, const SourceLocation& where) noexcept {
    const std::uint64_t submitted = first.submissions.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const Mark& mark = marks[i];
        if (mark.event == nullptr) continue;
        note_record(*mark.event, first, submitted, 0, false);
        if (sent_marks_[i].outcome != nullptr)
            mark.event->outcome = std::move(sent_marks_[i].outcome);
        mark.event->recorder.store(nullptr, std::memory_order_release);
    }
    marks.clear();
    begins.clear();
    // Processes the first participant last, because the parts of the other participants are
    // compared with the first part.
    for (std::size_t i = participants.size(); i-- > 0;) {
        Participant& one = participants[i];
        one.own = one.primary = -1;
        if (one.stream == nullptr) garbage.pasts.push_back(std::exchange(one.past, {}));
        if (parts_[i].stream == nullptr) continue;
        one.submitted = one.stream->submissions.load(std::memory_order_acquire);
        garbage.pasts.push_back(std::exchange(one.past, {}));
        if (i != 0) note_part_sent(one, parts_[i], parts_[0], where);
        one.at.last_ops.clear();
        one.at.allocated = false;
        one.at.begins.assign(1, static_cast<std::uint32_t>(i));  // cannot fail: it has capacity
        if (i == 0 || (!one.leaves && is_recordable(*one.stream))) continue;
        garbage.pasts.push_back(std::exchange(one.past, {}));
        detach(one);
    }
}

/// Removes participants that have left. Call it only after a flush, when no operation uses their
/// indices.
void BatchRecorder::forget_left() noexcept {
    const auto has_past = [](const StreamPart::Past& past) {
        return past.outcome != nullptr || past.reached;
    };
    while (participants.size() > 1 && participants.back().stream == nullptr &&
           !has_past(participants.back().past))
        participants.pop_back();
}

void BatchRecorder::flush(const SourceLocation& where) {
    StreamRecord* const first = origin();
    if (first == nullptr || run_ == nullptr || first->has(stream_flag::forked)) return;
    const Tape::Position before = tape->position();
    const std::size_t begun = begins.size();
    try {
        complete_tape(where);
        // If another thread natively enqueued work on a participant, that work precedes the tape.
        // This happens if the thread read the stream's flags before the stream joined.
        for (std::uint32_t i = 1; i < participants.size(); ++i) {
            Participant& one = participants[i];
            if (!takes_part(one) || is_clean(*one.stream)) continue;
            merge(one.at.begins, {i});
            one.past.outcome = one.stream->fallible_outcome();
            one.past.submissions = one.stream->submissions.load(std::memory_order_acquire);
            order_after_enqueued(*first, *one.stream, where);
        }
        if (!tape->is_empty()) launch(*first, where);
    } catch (...) {
        parts_.clear();
        tape->go_back(before);
        begins.resize(begun);
        throw;
    }
    parts_.clear();
    collect_kept();
    forget_left();
    if (!first->has(not_recordable & ~stream_flag::lending)) return;
    // The first stream cannot record any more, for example because it has failed.
    for (Participant& one : participants) detach(one);
}

/// Launches the tape.
void BatchRecorder::launch(StreamRecord& first, const SourceLocation& where) {
    garbage.reserve(3 * participants.size());
    parts_.resize(participants.size());
    for (std::size_t i = 0; i < participants.size(); ++i) {
        Participant& one = participants[i];
        one.at.begins.reserve(1);
        parts_[i].stream = i == 0 || takes_part(one) ? one.stream : nullptr;
        parts_[i].last_ops = one.at.last_ops;
        parts_[i].begins = one.at.begins;
        parts_[i].past = &one.past;
    }
    sent_marks_.clear();
    for (const Mark& mark : marks) sent_marks_.push_back({mark.node, nullptr});
    run_->launch(tape, {parts_, begins, sent_marks_}, id.load(std::memory_order_relaxed), where,
                 garbage.objects);
    note_sent(first, where);
}

bool BatchRecorder::keep(Block& block) noexcept {
    const std::lock_guard guard(kept_lock_);
    if (!keeps_) return false;
    block.next_kept = std::exchange(kept_, &block);
    return true;
}

void BatchRecorder::note_batch_use(StreamRecord& stream, Block& block, bool writes) {
    if (participants.empty()) return;
    if (StreamRecord* const first = participants[0].stream) note_use(&block, *first);
    const Participant& one = participant(stream);
    if (one.base_id == 0) [[likely]]
        return;
    for (const Participant* base = base_of(one); base != nullptr; base = base_of(*base))
        note_use(&block, *base->stream, writes);
}

StreamRecord& allocating_stream(StreamRecord& stream, const SourceLocation& where) {
    const Recorded r(stream);
    if (!r) return stream;
    if (r->is_capture()) return record_of(default_stream(stream.device));
    StreamRecord* const first = static_cast<BatchRecorder&>(*r).origin();
    if (first != nullptr && first->device == stream.device) return *first;
    r->step_aside(stream, where);
    return stream;
}

void order_after_allocation(StreamRecord& stream, StreamRecord& on, const SourceLocation& where) {
    {
        const Recorded r(stream);
        if (r && r->is_capture()) return;  // a launch of the graph waits for the memory's users
        if (r && static_cast<BatchRecorder&>(*r).origin() == &on) {
            r->participant(stream).at.allocated = true;
            return;
        }
    }
    order_after_enqueued(stream, on, where);  // `stream` is not in a batch, or has just left it
}

}  // namespace heddle::detail
