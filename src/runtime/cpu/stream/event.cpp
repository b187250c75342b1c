// CPU events, and waits between streams.
#include <utility>

#include "cpu/device/backend.hpp"
#include "cpu/device/native_event.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/queue/queue.hpp"

#include "core/base/errors.hpp"
#include "core/stream/recorded_calls.hpp"

namespace heddle::detail::cpu {

namespace {

/// Throws in the child of a fork if the parent made the record, because the parent's threads do not
/// exist here.
void refuse_of_parent(const EventState& event, const char* call, const SourceLocation& where) {
    if (event.stream == nullptr || !event.stream->has(stream_flag::forked) ||
        event.stream->id.load() != event.stream_id)
        return;
    coded_error(ErrorCode::forked, {call, where, event.device},
                "the event was recorded in the parent process, and this process cannot wait for "
                "that record: record the event in this process");
}

}  // namespace

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
    if (event.options.interprocess) return shared_event(event).is_over();
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
    if (event.options.interprocess) return shared_event(event).failure();
    const CompletionRef done = newest_record(event);
    return done && done->is_done() ? done->failure() : nullptr;
}

}  // namespace heddle::detail::cpu
