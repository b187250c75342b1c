// Order among recorded streams, and between them and others: waits and events.
#include <algorithm>
#include <mutex>

#include "core/recording_lanes.hpp"

namespace heddle::detail {

namespace {

/// Whether everything that `stream` was really given is before what the batch's first stream is given next.
bool is_settled(Recording& r, StreamRecord& stream, const SourceLocation& where) {
    StreamRecord& origin = *r.lanes[0].stream;
    const std::uint64_t given = stream.submissions.load(std::memory_order_acquire);
    const std::uint64_t origin_id = origin.id.load(std::memory_order_relaxed);
    if (given == 0 || (stream.settled_by == origin_id && stream.settled_at == given)) return true;
    if (!origin.waited.covers(stream.id.load(std::memory_order_relaxed), given) &&
        !stream.backend->is_complete(stream, where))
        return false;
    stream.settled_at = given;
    stream.settled_by = origin_id;
    return true;
}

bool may_join_batch(Recording& r, StreamRecord& stream, const SourceLocation& where) {
    return !r.sending && r.lanes[0].stream != nullptr && stream.backend == r.lanes[0].stream->backend &&
           is_recordable(stream) && r.owner == std::this_thread::get_id() && is_settled(r, stream, where) &&
           (!stream.has(stream_flag::fallible) || stream.known_failure() == nullptr);
}

Recording::Mark* mark_of(Recording& r, const EventState& event) noexcept {
    const auto found = std::ranges::find_if(r.marks, [&](const auto& mark) { return mark.event == &event; });
    return found == r.marks.end() ? nullptr : &*found;
}

/// The lock of the recording that has the event marked, taken; null if none has.
Recording* lock_marking(EventState& event) noexcept {
    Recording* r = event.recording.load(std::memory_order_acquire);
    if (r == nullptr) return nullptr;
    r->lock.lock();
    if (event.recording.load(std::memory_order_relaxed) == r && mark_of(*r, event) != nullptr) return r;
    r->lock.unlock();
    return nullptr;
}

std::vector<std::uint32_t> place_of(const Recording::Mark& mark) {
    if (mark.op < 0) return mark.tail;
    return {static_cast<std::uint32_t>(mark.op)};
}

/// A stream joins a capture.
void join_capture(Recording& r, StreamRecord& stream, std::vector<std::uint32_t> tail, const char* call,
                  const SourceLocation& where) {
    if (stream.backend->capture_id(stream) != 0)
        refuse(stream, "the stream is in another capture already, begun past heddle", call, where);
    if (r.device.is_cpu() && stream.device.is_cuda())
        refuse(stream,
               "a stream of a CUDA device cannot take part in a capture that began on a CPU stream: begin it "
               "on the "
               "CUDA stream",
               call, where);
    attach(r, stream, std::move(tail), where);
}

}  // namespace

bool record_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    if (Recorded theirs(other); theirs) {
        Recording& r = *theirs;
        if (waiter.recording.load(std::memory_order_acquire) == &r) {
            refuse_in_body(r, waiter, where);
            if (r.batch == nullptr || (is_clean(r, other) && is_clean(r, waiter))) {
                collect(r, r.lane_of(other), where);
                collect(r, r.lane_of(waiter), where);
                merge(r.lane_of(waiter).tail, r.lane_of(other).tail);
                return true;
            }
            theirs.release();
            send(r, false, where);
            return false;
        }
        if (r.batch == nullptr) {
            if (is_captured(waiter)) return false;  // of another capture: refused there
            collect(r, r.lane_of(other), where);
            std::vector<std::uint32_t> tail = r.lane_of(other).tail;
            if (waiter.recording.load(std::memory_order_acquire) != nullptr) {
                theirs.unlock();
                send_batch_of(waiter, where);
                Recorded again(other);
                if (!again) return false;
                join_capture(r, waiter, std::move(tail), "wait_stream", where);
                return true;
            }
            join_capture(r, waiter, std::move(tail), "wait_stream", where);
            return true;
        }
        // In an open batch. A stream that has nothing of its own pending takes part.
        if (!waiter.has(stream_flag::recording) && may_join_batch(r, waiter, where)) {
            attach(r, waiter, r.lane_of(other).tail, where);
            return true;
        }
        theirs.release();
        send(r, false, where);
    }
    Recorded mine(waiter);
    if (!mine || mine->batch == nullptr) return false;
    if (is_recordable(other) &&
        waiter.waited.covers(other.id.load(), other.submissions.load(std::memory_order_acquire)))
        return false;  // so it is already, and no wait will be made
    return really(mine, waiter, where);
}

bool record_event_record(EventState& event, StreamRecord& stream, bool external,
                         const SourceLocation& where) {
    forget_mark(event);
    Recorded r(stream);
    if (!r) return false;
    if (r->batch != nullptr && !is_clean(*r, stream)) return really(r, stream, where);
    collect(*r, r->lane_of(stream), where);
    Recording::Mark mark{&event, r->lane_of(stream).tail, -1};
    if (event.options.timing || external) {
        add_op(*r, stream, NodeKind::record_event, where);
        mark.op = r->lane_of(stream).tail.front();
        r->tape->set_event(static_cast<std::uint32_t>(mark.op), &event);
    }
    std::erase_if(r->marks, [](const Recording::Mark& one) { return one.event == nullptr; });
    r->marks.push_back(std::move(mark));
    event.recording.store(&*r, std::memory_order_release);
    event.recorded = true;
    event.stream = &stream;
    event.stream_id = stream.id.load(std::memory_order_relaxed);
    event.submissions = stream.submissions.load(std::memory_order_relaxed);
    event.capture_id = r->id;
    event.countable = false;
    return true;
}

bool record_event_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) {
    if (Recording* theirs = lock_marking(event)) {
        Recording& r = *theirs;
        std::unique_lock held(r.lock, std::adopt_lock);
        const std::vector<std::uint32_t> place = place_of(*mark_of(r, event));
        if (waiter.recording.load(std::memory_order_acquire) == &r) {
            if (r.batch == nullptr || is_clean(r, waiter)) {
                collect(r, r.lane_of(waiter), where);
                merge(r.lane_of(waiter).tail, place);
                return true;
            }
        } else if (r.batch == nullptr) {
            if (is_captured(waiter)) return false;
            if (waiter.recording.load(std::memory_order_acquire) == nullptr) {
                join_capture(r, waiter, place, "wait_event", where);
                return true;
            }
            held.unlock();
            send_batch_of(waiter, where);
            held.lock();
            join_capture(r, waiter, place, "wait_event", where);
            return true;
        } else if (!waiter.has(stream_flag::recording) && may_join_batch(r, waiter, where)) {
            attach(r, waiter, place, where);
            return true;
        }
        if (r.batch != nullptr) {
            held.release();
            send(r, false, where);
        }
    }
    Recorded mine(waiter);
    if (!mine || mine->batch == nullptr) return false;
    return really(mine, waiter, where);
}

bool record_primary(StreamRecord& waiter, EventState& event) {
    Recorded r(waiter);
    const Recording::Mark* const mark = r ? mark_of(*r, event) : nullptr;
    if (mark == nullptr || mark->op >= 0 || mark->tail.size() != 1) return false;
    r->lane_of(waiter).primary = mark->tail.front();
    return true;
}

void send_batch_of(EventState& event, const SourceLocation& where) {
    Recording* const r = lock_marking(event);
    if (r == nullptr) return;
    if (r->batch != nullptr) send(*r, false, where);
    else r->lock.unlock();
}

void forget_mark(EventState& event) noexcept {
    Recording* const r = lock_marking(event);
    if (r == nullptr) return;
    Recording::Mark& mark = *mark_of(*r, event);
    if (mark.op >= 0) r->tape->make_empty(static_cast<std::uint32_t>(mark.op));
    mark.event = nullptr;
    event.recording.store(nullptr, std::memory_order_release);
    event.capture_id = 0;
    r->lock.unlock();
}

std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends) {
    std::vector<std::size_t> first(tape.size() + 1, 0);
    for (std::size_t i = 0; i < tape.size(); ++i) first[i + 1] = first[i] + tape.op(i).dependencies;
    std::vector<bool> reached(tape.size(), false);
    for (const std::uint32_t end : ends) reached[end] = true;
    for (std::size_t i = tape.size(); i-- > 0;) {
        if (!reached[i]) continue;
        for (std::size_t d = first[i]; d < first[i + 1]; ++d) reached[tape.all_dependencies()[d]] = true;
    }
    return reached;
}

}  // namespace heddle::detail
