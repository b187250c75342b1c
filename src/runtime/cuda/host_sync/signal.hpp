// Functions to call before a native event is recorded again, exported or put into a graph. A
// notification may be polling the event.
#pragma once

#include <cuda_runtime_api.h>

#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// Call before an event's native event is recorded again. If a notification still waits for the
/// last record, the notification keeps the native event, and `event` receives a new one.
/// (host_sync/signal.cpp)
void detach_notification(EventState& event, const SourceLocation& where);
/// Call before code outside heddle can record an event's native event. If a notification waits for
/// the newest record, it polls a separate event from then on. (host_sync/signal.cpp)
void stop_watching(EventState& event, const SourceLocation& where);
/// Returns the native event for a graph node. From then on, `event` always keeps this native event,
/// because the node refers to it. (host_sync/signal.cpp)
cudaEvent_t native_for_graph(EventState& event, const SourceLocation& where);

}  // namespace heddle::detail::cu
