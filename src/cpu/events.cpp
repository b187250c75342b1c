// CPU events, and waits for streams of all kinds of devices.
#include <chrono>

#include <cstring>

#include <heddle/memory/interprocess.hpp>

#include "cpu/backend.hpp"
#include "cpu/shared_event.hpp"

#include "core/base/errors.hpp"
#include "core/stream/recorded_calls.hpp"

namespace heddle::detail::cpu {

namespace {

// A CPU event's `native` points to a CompletionRef, the completion of its newest record. For an
// event shared between processes it points to a SharedEvent.
SharedEvent& shared(const EventState& event) noexcept {
    return *static_cast<SharedEvent*>(event.native);
}

/// Forwards one completion to another.
struct Relay : Waiter {
    CompletionRef to;
};

void relay(const CompletionRef& from, CompletionRef to) {
    auto relay = std::make_unique<Relay>();
    relay->to = std::move(to);
    relay->wake = [](Waiter& self, const Completion& reached) noexcept {
        const std::unique_ptr<Relay> mine(static_cast<Relay*>(&self));
        reached.see();
        mine->to->complete(reached.failure());
    };
    if (from->add(*relay)) (void)relay.release();
    else relay->wake(*relay.release(), *from);
}

/// Throws in the child of a fork if the record was made by the parent, whose threads do not exist
/// here.
void refuse_of_parent(const EventState& event, const char* call, const SourceLocation& where) {
    if (event.stream == nullptr || !event.stream->has(stream_flag::forked) ||
        event.stream->id.load() != event.stream_id)
        return;
    coded_error(ErrorCode::forked, {call, where, event.device},
                "the event was recorded by the parent process, whose work goes on there alone");
}

}  // namespace

CompletionRef newest_record(const EventState& event) {
    if (event.options.interprocess) return shared(event).newest();
    return event.native != nullptr ? *static_cast<CompletionRef*>(event.native) : CompletionRef();
}

EventRecord::EventRecord(EventState& event, const StreamRecord& stream)
    : event_(&event), shared_(event.options.interprocess ? shared(event).prepare(stream.id.load())
                                                         : SharedRecord()) {
    if (!event.options.interprocess && event.native == nullptr) event.native = new CompletionRef;
}

void EventRecord::make(CompletionRef done) noexcept {
    if (event_->options.interprocess) shared_.make(done);
    else *static_cast<CompletionRef*>(event_->native) = std::move(done);
}

void CpuBackend::open_event(EventState& event, const SourceLocation& where) {
    if (event.options.interprocess) event.native = new SharedEvent(where);
}

void CpuBackend::forget_record(EventState& event) noexcept {
    if (event.options.interprocess)
        delete static_cast<SharedEvent*>(std::exchange(event.native, nullptr));
    else delete static_cast<CompletionRef*>(std::exchange(event.native, nullptr));
}

void CpuBackend::close_event(EventState& event) noexcept { forget_record(event); }

void CpuBackend::record(EventState& event, StreamRecord& stream, const SourceLocation&) {
    CompletionRef done = make_completion();
    EventRecord record(event, stream);
    queue_of(stream).push_signal(done, event.options.timing);
    record.make(std::move(done));
}

namespace {
/// Enqueues a wait. If the stream has joined a batch since the caller checked its flags, flushes
/// that batch first and enqueues the wait after it. The batch's work need not wait, but the
/// caller's next work must.
void push_wait(StreamRecord& waiter, CompletionRef done, const SourceLocation& where) {
    Queue& queue = queue_of(waiter);
    while (!queue.push_wait_unless_joined(done, where)) [[unlikely]]
        if (!make_way(waiter, where)) return queue.push_wait(std::move(done), where);
}
}  // namespace

void CpuBackend::wait_stream(StreamRecord& waiter, StreamRecord& other,
                             const SourceLocation& where) {
    CompletionRef done = make_completion();
    queue_of(other).push_signal(done, false);
    push_wait(waiter, std::move(done), where);
}

void CpuBackend::wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) {
    CompletionRef done = newest_record(event);
    if (!done) return;
    if (!done->is_done()) refuse_of_parent(event, "wait_event", where);
    push_wait(waiter, std::move(done), where);
}

bool CpuBackend::is_complete(EventState& event, const SourceLocation&) {
    if (event.options.interprocess) return shared(event).is_over();
    const CompletionRef done = newest_record(event);
    if (!done) return true;
    if (!done->is_done()) return false;
    done->see();
    return true;
}

void CpuBackend::synchronize(EventState& event, const SourceLocation& where) {
    const CompletionRef done = newest_record(event);
    if (!done) return;
    if (done->is_done()) return done->see();
    refuse_of_parent(event, "synchronize", where);
    wait_for(*done);
}

double CpuBackend::elapsed_ms(EventState& start, EventState& end, const SourceLocation&) {
    return static_cast<double>(newest_record(end)->time_ns() - newest_record(start)->time_ns()) /
           1e6;
}

Failure CpuBackend::failure_of(EventState& event) {
    if (event.options.interprocess) return shared(event).failure();
    const CompletionRef done = newest_record(event);
    return done && done->is_done() ? done->failure() : nullptr;
}

EventHandle CpuBackend::export_event(EventState& event, const SourceLocation& where) {
    EventHandle handle;
    const SharedFileName name = shared(event).name(where);
    static_assert(sizeof name <= sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), &name, sizeof name);
    return handle;
}

void CpuBackend::import_event(EventState& event, const EventHandle& handle,
                              const SourceLocation& where) {
    SharedFileName name;
    std::memcpy(&name, handle.bytes.data(), sizeof name);
    event.native = new SharedEvent(name, where);
}

CompletionRef CpuBackend::completion_of(EventState& event, const SourceLocation&) {
    if (CompletionRef done = newest_record(event)) return done;
    CompletionRef done = make_completion();
    done->complete();
    return done;
}

void CpuBackend::signal(EventState& event, CompletionRef done, const SourceLocation& where) {
    relay(completion_of(event, where), std::move(done));
}

void CpuBackend::signal_use(const StreamUse& use, CompletionRef done) {
    if (const CompletionRef pending = pending_work(use)) relay(pending, std::move(done));
    else done->complete();
}

void CpuBackend::wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) {
    if (CompletionRef pending = pending_work(use)) push_wait(waiter, std::move(pending), where);
}

void CpuBackend::await(StreamRecord& waiter, CompletionRef done, const SourceLocation& where) {
    push_wait(waiter, std::move(done), where);
}

}  // namespace heddle::detail::cpu
