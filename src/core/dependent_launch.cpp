// Programmatic events: what is recorded by a launch, and what after it.
#include <heddle/dependent_launch.hpp>

#include "core/order.hpp"
#include "core/registry.hpp"

namespace heddle::detail {

namespace {
constexpr const char* call = "launch_triggering";
}

EventState* arm_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where) {
    EventState& state = event.event_.state(call, where);
    StreamRecord& record = record_of(stream.state());
    if (state.device != record.device)
        throw_error(
            stream_error(ErrorCode::usage, record,
                         "an event of " + state.device.name() +
                             " cannot be recorded here: make it with ProgrammaticEvent(stream.device())",
                         call, where));
    state.triggered = false;
    // Captures, batches, failures and streams that others use go the plain way.
    const bool plain =
        record.has(stream_flag::slow_order) || state.recording.load(std::memory_order_relaxed) != nullptr;
    if (plain || !record.device.is_cuda() || record.device.info().compute_major < 9) return nullptr;
    return &state;
}

void record_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where) {
    EventState& state = event.event_.state(call, where);
    if (!state.triggered) record_event(state, record_of(stream.state()), where);
}

bool wait_for_trigger(StreamRef stream, const ProgrammaticEvent& event, const SourceLocation& where) {
    EventState& state = event.event_.state("launch_dependent", where);
    if (!state.recorded) return false;
    order_after_event(record_of(stream.state()), state, where);
    return state.triggered;
}

}  // namespace heddle::detail
