#include "core/stream/order.hpp"
#include "core/base/errors.hpp"

#include "core/stream/event_pool.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/stream_errors.hpp"
#include <heddle/detail/thread_state.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle::detail {

namespace {

/// The ids of the captures that two streams take part in; 0 for none.
struct Captures {
    std::uint64_t waiter = 0;
    std::uint64_t other = 0;
    bool any() const noexcept { return (waiter | other) != 0; }
};

std::uint64_t capture_of(StreamRecord& stream) {
    if (stream.has(stream_flag::recording)) return is_captured(stream) ? recorder_id(stream) : 0;
    if (!stream.has(stream_flag::capturing | stream_flag::handed_out)) return 0;
    const std::uint64_t id = stream.backend->capture_id(stream);
    if (id != 0) stream.set(stream_flag::capturing);
    else if (stream.has(stream_flag::capturing)) stream.clear(stream_flag::capturing);
    return id;
}

void check_captures(StreamRecord& waiter, StreamRecord* other, const Captures& captures,
                    const char* call, const SourceLocation& where) {
    if (captures.waiter == 0 || captures.waiter == captures.other) return;
    const std::string name = other != nullptr ? other->display_name() : "the event's stream";
    if (captures.other == 0)
        usage_error({call, where, waiter},
                    "a capturing stream cannot wait for work outside its capture ({} is not "
                    "capturing): wait for it before the capture begins; or let it join the capture "
                    "first ({}.wait_stream(a capturing stream)), enter the scope with "
                    "{{.wait_on_enter = false}}, or wait for an event at every launch with "
                    "wait_external()",
                    name, name);
    usage_error(
        {call, where, waiter},
        "a capturing stream cannot wait for a stream of another capture, or of the capture "
        "around a condition's body ({}): join the two outside of the captures, by the order "
        "of their launches",
        name);
}

void note_wait(StreamRecord& waiter, const WaitNote& wait, const SourceLocation& where) {
    if (is_observed()) [[unlikely]]
        notify_wait(waiter, wait, where);
}

/// Returns whether the stream's device is lost, so that nothing can be enqueued on it any more.
bool is_lost(StreamRecord& waiter) {
    if (!waiter.has(stream_flag::poisoned)) return false;
    const Failure failure = waiter.known_failure();
    return failure != nullptr && failure->code == ErrorCode::device_lost &&
           failure->device == waiter.device;
}

void insert_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    if (waiter.backend == other.backend) {
        waiter.backend->wait_stream(waiter, other, where);
        return;
    }
    EventState& event = take_event(other.device, {}, where);
    try {
        other.backend->record(event, other, where);
        note_record(event, other, other.submissions.load(std::memory_order_acquire), 0, false);
        waiter.backend->await(waiter, other.backend->completion_of(event, where), where);
    } catch (...) {
        give_event(event);
        throw;
    }
    give_event(event);
}

bool is_current(StreamRecord& stream) noexcept {
    return stream_slot(this_thread_state(), stream.device) == &stream;
}

}  // namespace

void check_usable(StreamRecord& stream, const char* call, const SourceLocation& where) {
    const std::uint32_t flags = stream.flags.load(std::memory_order_acquire);
    if ((flags & stream_flag::forked) != 0)
        coded_error(ErrorCode::forked, {call, where},
                    "this stream belongs to the parent process: after fork(), make new streams "
                    "(CPU devices) or start a new program (CUDA)");
    if ((flags & stream_flag::dead) != 0 && is_current(stream))
        usage_error({call, where, stream.device},
                    "stream '{}' was destroyed while it was this thread's current stream of {}: "
                    "keep it until its scope is left, or call set_stream(default_stream(device), "
                    "{{.wait = false}}) first",
                    stream, stream.device);
    if ((flags & stream_flag::dead) != 0)
        usage_error({call, where}, "this StreamRef refers to no stream: the stream was destroyed "
                                   "or moved from, or there never was one");
}

void throw_capturing(StreamRecord& stream, const char* call, const SourceLocation& where) {
    usage_error(
        {call, where, stream},
        "the host cannot wait for or query a stream that is capturing: nothing of it is done "
        "before the graph is launched. End the capture first; to read memory, copy() it to "
        "pinned() in the capture");
}

void throw_wrong_event(const ErrorSite& site, Device of_event, std::string_view remedy) {
    usage_error(site, "an event of {} cannot be recorded here: {}", of_event, remedy);
}

void check_not_capturing(StreamRecord& stream, const char* call, const SourceLocation& where) {
    leave_to_host(stream, call, where);
    if (capture_of(stream) == 0) return;
    throw_capturing(stream, call, where);
}

// Work that fails says so before it counts as completed.
bool is_idle(StreamRecord& stream, const SourceLocation& where) {
    return stream.backend->is_complete(stream, where) &&
           (!stream.has(stream_flag::poisoned | stream_flag::fallible) ||
            stream.known_failure() == nullptr);
}

void throw_known_failure(StreamRecord& stream) {
    if (!stream.has(stream_flag::poisoned | stream_flag::fallible)) return;
    const Failure failure = stream.known_failure();
    if (failure != nullptr) throw_failure(failure, &stream);
}

void order_after_stream(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where,
                        WaitReason reason) {
    WaitNote note{.name = "wait_stream", .other = &other, .reason = reason};
    if (&waiter == &other) {
        if (waiter.has(stream_flag::dead)) check_usable(waiter, "wait_stream", where);
        note.is_elided = true;
        note_wait(waiter, note, where);
        return;
    }
    const std::uint32_t flags =
        waiter.flags.load(std::memory_order_relaxed) | other.flags.load(std::memory_order_relaxed);
    const std::uint64_t other_id = other.id.load(std::memory_order_relaxed);
    bool trusted = true;
    if ((flags & stream_flag::slow_order) != 0) [[unlikely]] {
        check_usable(waiter, "wait_stream", where);
        check_usable(other, "wait_stream", where);
        if ((flags & stream_flag::recording) != 0 && record_stream_wait(waiter, other, where)) {
            note.is_recorded = true;
            note_wait(waiter, note, where);
            return;
        }
        if (is_lost(waiter)) return;
        const Captures captures{capture_of(waiter), capture_of(other)};
        check_captures(waiter, &other, captures, "wait_stream", where);
        trusted = !captures.any() && !other.has(stream_flag::handed_out);
        if (captures.any()) waiter.set(stream_flag::capturing);
    }
    // Read before the record: the note must not claim more than the wait covers.
    const std::uint64_t given = other.submissions.load(std::memory_order_acquire);
    // A wait brings failures as well as order. A failure of the other stream must arrive even if
    // this stream's failure was cleared since the noted wait.
    const bool may_have_failed = (flags & (stream_flag::poisoned | stream_flag::fallible)) != 0;
    if (trusted && waiter.waited.covers(other_id, given) &&
        (!may_have_failed || other.known_failure() == nullptr)) {
        note.is_elided = true;
        note_wait(waiter, note, where);
        return;
    }
    insert_stream_wait(waiter, other, where);
    if (trusted) waiter.waited.note(other_id, given);
    if (other.has(stream_flag::fallible)) [[unlikely]]
        waiter.depend_on(other, other_id, given);
    note_wait(waiter, note, where);
}

void enqueue_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    const std::uint64_t other_id = other.id.load(std::memory_order_relaxed);
    const bool trusted = !other.has(stream_flag::handed_out);
    // Read before the record: the note must not claim more than the wait covers.
    const std::uint64_t given = other.submissions.load(std::memory_order_acquire);
    WaitNote note{.name = "wait_stream", .other = &other, .reason = WaitReason::batch};
    if (trusted && waiter.waited.covers(other_id, given)) {
        note.is_elided = true;
        note_wait(waiter, note, where);
        return;
    }
    insert_stream_wait(waiter, other, where);
    if (trusted) waiter.waited.note(other_id, given);
    if (other.has(stream_flag::fallible)) [[unlikely]]
        waiter.depend_on(other, other_id, given);
    note_wait(waiter, note, where);
}

void order_after_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where,
                     WaitReason reason) {
    StreamRecord& other = *use.stream;
    if ((&other == &waiter && use.is_same()) || other.has(stream_flag::forked)) return;
    send_batch_of(other, where);
    const bool trusted = !other.has(stream_flag::handed_out);
    const std::uint64_t given = other.submissions.load(std::memory_order_acquire);
    if (!use.is_same()) {  // another stream by now: all work of the user has completed
        tsan::acquire(use.stream->end_of_work());
        return;
    }
    WaitNote note{.name = "wait_stream", .other = &other, .reason = reason};
    if (trusted && waiter.waited.covers(use.id, given)) {
        note.is_elided = true;
        note_wait(waiter, note, where);
        return;
    }
    if (waiter.backend == other.backend) {
        waiter.backend->wait_use(waiter, use, where);
    } else {
        CompletionRef done = make_completion();
        other.backend->fence(use, done);
        if (!done->is_done() || done->failure() != nullptr)
            waiter.backend->await(waiter, std::move(done), where);
        else done->see();
    }
    if (trusted) waiter.waited.note(use.id, given);
    if (other.has(stream_flag::fallible)) [[unlikely]]
        waiter.depend_on(other, use.id, given);
    note_wait(waiter, note, where);
}

void order_after_event(StreamRecord& waiter, EventState& event, const SourceLocation& where,
                       WaitReason reason) {
    check_usable(waiter, "wait_event", where);
    WaitNote note{.name = "wait_event", .event = &event, .reason = reason};
    if (!event.is_recorded()) {
        note.name = "wait_event (never recorded)";
        note.is_elided = true;
        note_wait(waiter, note, where);
        return;
    }
    if ((event.recorder.load(std::memory_order_acquire) != nullptr ||
         waiter.has(stream_flag::recording)) &&
        record_event_wait(waiter, event, where)) [[unlikely]] {
        note.is_recorded = true;
        note_wait(waiter, note, where);
        return;
    }
    if (is_recorder_id(event.capture_id) && capture_of(waiter) != event.capture_id) [[unlikely]]
        usage_error({"wait_event", where, waiter},
                    "the event's newest record was made in another capture, and marks a point of "
                    "that graph: record it anew outside; an Event that is to be recorded at every "
                    "launch is recorded by record_external()");
    StreamRecord* const other = event.stream;
    bool trusted = event.countable;
    if (waiter.has(stream_flag::slow_order) || event.capture_id != 0) [[unlikely]] {
        if (is_lost(waiter)) return;
        const Captures captures{capture_of(waiter), event.capture_id};
        check_captures(waiter, other, captures, "wait_event", where);
        trusted = trusted && !captures.any();
        if (captures.any()) waiter.set(stream_flag::capturing);
    }
    const bool own =
        other == &waiter && event.stream_id == waiter.id.load(std::memory_order_relaxed);
    // Elided only for the stream's own events. Eliding by submission counts, as in wait_stream(),
    // is not done for events (docs/adr/0002).
    if (trusted && own) {
        note.is_elided = true;
        note_wait(waiter, note, where);
        return;
    }
    if (waiter.backend == event.backend) waiter.backend->wait(waiter, event, where);
    else waiter.backend->await(waiter, event.backend->completion_of(event, where), where);
    if (event.fate != nullptr) [[unlikely]]
        waiter.depend_on(event.fate, event.submissions);
    note_wait(waiter, note, where);
}

void note_record(EventState& event, StreamRecord& stream, std::uint64_t given,
                 std::uint64_t capture, bool countable) {
    event.recorded = true;
    event.stream = &stream;
    event.stream_id = stream.id.load(std::memory_order_relaxed);
    event.submissions = given;
    event.capture_id = capture;
    event.countable = countable && !event.handed_out;
    if (stream.device.is_cuda() && stream.has(stream_flag::poisoned | stream_flag::fallible))
        [[unlikely]]
        event.fate = stream.current_fate();
    else if (event.fate != nullptr) [[unlikely]] event.fate = nullptr;
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
        if (is_observed()) notify_record(stream, event, where, true);
        return;
    }
    const bool open = !careful || !stream.has(stream_flag::handed_out | stream_flag::capturing);
    const std::uint64_t capture = open ? 0 : capture_of(stream);
    const std::uint64_t given = stream.submissions.load(std::memory_order_acquire);
    if (!careful || !is_lost(stream)) [[likely]]
        event.backend->record(event, stream, where);
    note_record(event, stream, given, capture, open);
    note_point(event, stream);
    if (is_observed()) notify_record(stream, event, where, false);
}

Admission admit_slowly(StreamState& state, const char* call, Where where) try {
    StreamRecord& stream = record_of(state);
    check_usable(stream, call, where);
    const bool recorded = stream.has(stream_flag::recording);
    if (recorded && is_captured(stream))
        return Admission::recorded;  // does not run now: failures do not matter
    const bool may_have_failed = stream.has(stream_flag::poisoned | stream_flag::fallible);
    const Failure failure = may_have_failed ? stream.known_failure() : nullptr;
    if (failure == nullptr) return recorded ? Admission::recorded : Admission::given;
    // A failed stream can be cleared, so its work is dropped; a lost device cannot, so this throws.
    if (failure->code == ErrorCode::device_lost && failure->device == stream.device)
        throw_failure(failure);
    if (is_observed()) notify_on(stream, {.kind = OpKind::dropped, .name = call, .where = where});
    return Admission::dropped;
} catch (...) {
    rethrow_as_error(call, where);
}

}  // namespace heddle::detail
