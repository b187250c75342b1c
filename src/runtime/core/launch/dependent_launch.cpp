// Programmatic events. In a recording, a kernel that waits for such an event may start early.
#include <heddle/launch/dependent_launch.hpp>

#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {
constexpr const char* call = "launch_triggering";
}

void check_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where) {
    const EventState& state = Access::state(Access::event(event), call, where);
    StreamRecord& record = record_of(stream);
    if (state.device != record.device)
        throw_wrong_event({call, where, record}, state.device,
                          "make it with ProgrammaticEvent(stream.device())");
}

void record_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where) {
    record_event(Access::state(Access::event(event), call, where), record_of(stream), where);
}

bool wait_for_trigger(StreamRef stream, const ProgrammaticEvent& event,
                      const SourceLocation& where) {
    EventState& state = Access::state(Access::event(event), "launch_dependent", where);
    if (!state.is_recorded()) return false;
    StreamRecord& waiter = record_of(stream);
    order_after_event(waiter, state, where);
    return waiter.has(stream_flag::recording) && record_primary(waiter, state);
}

}  // namespace heddle::detail
