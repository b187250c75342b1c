// The public class Event.
#include <heddle/stream/elapsed.hpp>
#include <heddle/stream/event.hpp>

#include <heddle/operation/observer.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/stream/event_pool.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"

namespace heddle {

using detail::EventState;

namespace {

EventState& usable(EventState* state, const char* call, const SourceLocation& where) {
    if (state == nullptr) detail::throw_moved_from({call, where}, "event");
    return *state;
}

void check_not_captured(EventState& event, const char* call, const SourceLocation& where) {
    if (event.recorder.load(std::memory_order_acquire) != nullptr) send_batch_of(event, where);
    if (event.capture_id == 0) return;
    detail::usage_error({call, where, event.device},
                        "this event was recorded in a capture, where it marks a point of the "
                        "graph, not a time: record it outside the capture");
}

/// Throws the failure of the work before a completed record, if any.
void throw_failure_of(EventState& event) {
    detail::Failure failure = event.backend->failure_of(event);
    if (failure == nullptr && event.outcome != nullptr)
        failure = event.outcome->failure_up_to(event.submissions);
    if (failure != nullptr) throw_failure(failure);
}

}  // namespace

Event::Event(Device device, EventOptions options, Where where) try {
    if (options.timing && options.interprocess)
        detail::usage_error(
            {"Event", where, device},
            "an interprocess event cannot have timing: set only one of .interprocess and .timing");
    state_ = &detail::take_event(device, options, where);
    if (detail::is_observed())
        detail::notify({.kind = OpKind::make_event,
                        .name = "Event",
                        .device = device,
                        .event = detail::point_of(*state_),
                        .where = where});
} catch (...) {
    detail::rethrow_as_error("Event", where);
}

Event::Event(Event&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
    if (this != &other) {
        if (state_ != nullptr) detail::give_event(*state_);
        state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
}

Event::~Event() {
    if (state_ != nullptr) detail::give_event(*state_);
}

EventState& Event::state(const char* call, Where where) const try {
    return usable(state_, call, where);
} catch (...) {
    detail::rethrow_as_error(call, where);
}
Device Event::device(Where where) const { return state("Event::device", where).device; }
EventOptions Event::options(Where where) const { return state("Event::options", where).options; }
bool Event::is_recorded(Where where) const {
    return state("Event::is_recorded", where).is_recorded();
}

void Event::record(StreamRef stream, Where where) try {
    const detail::CallMark mark("record_event", where);
    detail::record_event(usable(state_, "record_event", where), detail::record_of(stream), where);
} catch (...) {
    detail::rethrow_as_error("record_event", where);
}
void Event::record(Where where) { record(current_stream(device(where)), where); }

bool Event::is_complete(Where where) const try {
    EventState& event = usable(state_, "is_complete", where);
    if (!event.is_recorded()) return true;
    if (!may_query(event, where)) return false;
    check_not_captured(event, "is_complete", where);
    if (!event.backend->is_complete(event, where)) {
        if (detail::wants_times()) [[unlikely]]
            detail::note_pending_query(event, where);
        return false;
    }
    if (detail::is_observed()) detail::notify_query(event, where);
    throw_failure_of(event);
    return true;
} catch (...) {
    detail::rethrow_as_error("Event::is_complete", where);
}

void Event::synchronize(Where where) const try {
    const detail::CallMark mark("Event::synchronize", where);
    EventState& event = usable(state_, "synchronize", where);
    detail::check_may_wait("Event::synchronize", where);
    if (!event.is_recorded()) return;
    check_not_captured(event, "synchronize", where);
    detail::HostWait wait("Event::synchronize", event, where);
    if (event.device.is_cuda())  // may wait for CPU work, which after exit() only this thread runs
        detail::help_at_exit_until([&] { return event.backend->is_complete(event, where); });
    event.backend->synchronize(event, where);
    wait.end();
    throw_failure_of(event);
} catch (...) {
    detail::rethrow_as_error("Event::synchronize", where);
}

std::chrono::duration<double, std::milli> elapsed(const Event& start, const Event& end,
                                                  Where where) try {
    EventState& first = detail::Access::state(start, "elapsed", where);
    EventState& last = detail::Access::state(end, "elapsed", where);
    const detail::ErrorSite site{"elapsed", where, first.device};
    if (!first.options.timing || !last.options.timing)
        detail::usage_error(
            site, "one of the events has no timing: make both events with {{.timing = true}}");
    if (!first.is_recorded() || !last.is_recorded())
        detail::usage_error(site, "one of the events was never recorded: record both events first");
    if (first.device != last.device)
        detail::usage_error(site,
                            "the events belong to different devices: use two events of one device");
    start.synchronize(where);
    end.synchronize(where);
    return std::chrono::duration<double, std::milli>(first.backend->elapsed_ms(first, last, where));
} catch (...) {
    detail::rethrow_as_error("elapsed", where);
}

double elapsed_time(const Event& start, const Event& end, Where where) {
    return elapsed(start, end, where).count();
}

void synchronize_event(const Event& event, Where where) { event.synchronize(where); }

}  // namespace heddle
