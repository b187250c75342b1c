#include "core/recording/batch_recorder.hpp"

#include <heddle/observe/observer.hpp>

#include "core/base/failure.hpp"
#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "core/stream/order.hpp"

namespace heddle::detail {

namespace {
constinit RecorderPool<BatchRecorder> batches;
const ForkRegistration registered{ForkOrder::batch_recorders, batches.lock()};
}  // namespace

BatchRecorder& BatchRecorder::start(StreamRecord& stream, BatchRun& run,
                                    const SourceLocation& where) {
    BatchRecorder& batch = batches.take();
    batch.run_ = &run;
    {
        const std::lock_guard guard(batch.kept_lock_);
        batch.keeps_ = true;
    }
    try {
        batch.begin(stream, where);
    } catch (...) {
        batch.run_ = nullptr;
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
        // Still under the lock, so that nothing is recorded in between.
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
    // There is no tape if the batch could not begin.
    if (!is_observed() || tape == nullptr || tape->is_empty()) [[likely]]
        return;
    notify({.kind = OpKind::abandon,
            .name = "batch",
            .device = device,
            .recording = id.load(std::memory_order_relaxed),
            .where = where});
}

/// Moves the blocks kept so far to `garbage`.
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

/// Whether nothing was really enqueued on the stream since it joined or the tape was last sent.
/// Another thread can do so if it read the stream's flags before the stream joined.
bool BatchRecorder::is_clean(StreamRecord& stream) noexcept {
    return stream.place == 0 ||
           participant(stream).given == stream.submissions.load(std::memory_order_acquire);
}

/// Whether the stream's first `given` submissions are ordered before further work on the batch's
/// first stream.
bool BatchRecorder::is_settled(StreamRecord& stream, std::uint64_t given,
                               const SourceLocation& where) {
    if (given == 0) return true;
    const std::uint64_t origin_id = origin()->id.load(std::memory_order_relaxed);
    {
        const std::lock_guard life(stream.life);
        if (stream.settled_by == origin_id && stream.settled_at == given) return true;
    }
    if (!origin()->waited.covers(stream.id.load(std::memory_order_relaxed), given) &&
        !stream.backend->is_complete(stream, where))
        return false;
    const std::lock_guard life(stream.life);
    stream.settled_at = given;
    stream.settled_by = origin_id;
    return true;
}

bool BatchRecorder::accept(StreamRecord& stream, Wants wants, const char*,
                           const SourceLocation& where) {
    if (wants == Wants::nothing && is_clean(stream)) return true;
    step_aside(stream, where);
    return false;
}

void BatchRecorder::step_aside(StreamRecord& stream, const SourceLocation& where) {
    flush(where);
    if (stream.recorder.load(std::memory_order_relaxed) == this && stream.place != 0)
        detach(participant(stream));
}

/// Flushes if the first stream leaves; without it the batch records nothing more. Also flushes for
/// a stream of another device with recorded work: waits for that device might not find the batch
/// any more.
void BatchRecorder::leave(StreamRecord& stream) noexcept {
    Participant& one = participant(stream);
    const bool is_origin = stream.place == 0;
    if (is_origin || (stream.device != device && !one.tail.empty())) {
        try {
            flush({});
        } catch (...) {
            report(std::current_exception());
        }
    }
    if (is_origin) {
        tell_abandoned({});
        for (Participant& each : participants) detach(each);
    } else if (takes_part(one)) detach(one);
}

bool BatchRecorder::join(StreamRecord& stream, const std::vector<std::uint32_t>& tail, const char*,
                         const SourceLocation& where) {
    StreamRecord* const first = origin();
    if (first == nullptr || owner != std::this_thread::get_id() ||
        stream.backend != first->backend || stream.has(stream_flag::recording) ||
        !is_recordable(stream) ||
        (stream.has(stream_flag::fallible) && stream.known_failure() != nullptr))
        return false;
    const std::uint64_t given = stream.submissions.load(std::memory_order_acquire);
    if (!is_settled(stream, given, where) || !attach(stream, tail, nullptr, where)) return false;
    if (participants.back().given == given) return true;
    detach(participants.back());  // another thread has just enqueued work on it
    participants.pop_back();
    return false;
}

void BatchRecorder::wait_inside(StreamRecord& waiter, StreamRecord* other,
                                const std::vector<std::uint32_t>& place,
                                const SourceLocation& where) {
    // A flush orders all participants after the work that was really enqueued on any of them.
    if (!is_clean(waiter) || (other != nullptr && !is_clean(*other))) flush(where);
    else merge(participant(waiter).tail, place);
}

/// Orders further work of the other participants after the graph.
void BatchRecorder::order_others(StreamRecord& first, const SourceLocation& where) {
    std::exception_ptr failure;
    const std::uint64_t origin_id = first.id.load(std::memory_order_relaxed);
    for (std::size_t i = 1; i < participants.size(); ++i) {
        Participant& one = participants[i];
        if (!takes_part(one)) continue;
        StreamRecord& stream = *one.stream;
        try {
            enqueue_stream_wait(stream, first, where);
        } catch (...) {
            // The stream cannot be ordered, so none of its later work may run.
            failure = std::current_exception();
            stream.poison(as_failure(failure), stream.submissions.load() + 1);
        }
        one.given = stream.submissions.load(std::memory_order_acquire);
        one.tail.clear();
        one.own = one.primary = -1;
        if (!is_recordable(stream)) {
            detach(one);
            continue;
        }
        const std::lock_guard life(stream.life);
        stream.settled_at = one.given;
        stream.settled_by = origin_id;
    }
    if (failure != nullptr) std::rethrow_exception(failure);
}

void BatchRecorder::flush(const SourceLocation& where) {
    StreamRecord* const first = origin();
    if (first == nullptr || run_ == nullptr || first->has(stream_flag::forked)) return;
    garbage.reserve();
    const Tape::Position before = tape->position();
    try {
        // Marks of live events become nodes: once the tape is sent, only a real record can be
        // waited for.
        for (const Mark& mark : marks) {
            if (mark.event == nullptr || mark.op >= 0) continue;
            const std::uint32_t op =
                tape->add(NodeKind::record_event, mark.event->device, mark.tail, {});
            tape->set_event(op, mark.event);
        }
        // Work that another thread really enqueued on a participant goes first. That happens if the
        // thread read the stream's flags before the stream joined.
        for (std::size_t i = 1; i < participants.size(); ++i)
            if (takes_part(participants[i]) && !is_clean(*participants[i].stream))
                enqueue_stream_wait(*first, *participants[i].stream, where);
        if (!tape->is_empty()) run_->launch(tape, *first, where, garbage.objects);
    } catch (...) {
        tape->go_back(before);
        throw;
    }
    const std::uint64_t given = first->submissions.load(std::memory_order_acquire);
    for (const Mark& mark : marks) {
        if (mark.event == nullptr) continue;
        note_record(*mark.event, *first, given, 0, false);
        mark.event->recorder.store(nullptr, std::memory_order_release);
    }
    marks.clear();
    collect_kept();
    Participant& origin_part = participants[0];
    origin_part.given = given;
    origin_part.tail.clear();
    origin_part.own = origin_part.primary = -1;
    order_others(*first, where);
    if (is_recordable(*first)) return;
    // The first stream has failed, for example: nothing can be recorded any more.
    for (Participant& one : participants) detach(one);
}

bool BatchRecorder::keep(Block& block) noexcept {
    const std::lock_guard guard(kept_lock_);
    if (!keeps_) return false;
    block.next_kept = std::exchange(kept_, &block);
    return true;
}

void BatchRecorder::note_batch_use(Block& block) {
    if (StreamRecord* const first = origin()) note_use(&block, *first);
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

}  // namespace heddle::detail
