// Pools of events for reuse.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Takes an event of `device` with these options from its pool, or makes one. Thread-safe.
EventState& take_event(Device device, EventOptions options, const SourceLocation& where);
/// Ends the Event's ownership. The state returns to its pool once no graph or tape refers to it.
/// Thread-safe.
void give_event(EventState& event) noexcept;

}  // namespace heddle::detail
