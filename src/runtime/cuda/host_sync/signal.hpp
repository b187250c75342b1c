// Functions to call before a native event is recorded again, exported or put into a graph, because
// a notification may be polling it.
#pragma once

#include <cuda_runtime_api.h>

#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// Call before an event's native event is recorded again. A notification that still waits for the
/// last record keeps the native event, and `event` receives a new one. (host_sync/signal.cpp)
void detach_notification(EventState& event, const SourceLocation& where);
/// Call before code outside heddle can record an event's native event. A notification that waits
/// for the newest record polls a separate event from then on. (host_sync/signal.cpp)
void stop_watching(EventState& event, const SourceLocation& where);
/// Returns the native event for a graph node, which keeps it. The event's native event never
/// changes from then on. (host_sync/signal.cpp)
cudaEvent_t native_for_graph(EventState& event, const SourceLocation& where);

}  // namespace heddle::detail::cu
