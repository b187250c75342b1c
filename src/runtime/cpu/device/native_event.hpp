// Records of CPU events.
#pragma once

#include "core/seam/records.hpp"
#include "cpu/device/shared_event.hpp"

namespace heddle::detail::cpu {

// A CPU event's `native` points to a CompletionRef, the completion of its newest record. For an
// event shared between processes it points to a SharedEvent.
inline SharedEvent& shared_event(const EventState& event) noexcept {
    return *static_cast<SharedEvent*>(event.native);
}

/// Returns the completion of an event's newest record. Returns null if the event has no record, or
/// if that record is known to have completed.
CompletionRef newest_record(const EventState& event);
/// A record of an event, made in two steps. Only the first step can fail. Without the second,
/// nothing is recorded.
class EventRecord {
public:
    /// Prepares a record that a submission of the stream makes.
    EventRecord(EventState& event, const StreamRecord& stream);
    /// Makes `done` the event's newest record.
    void make(CompletionRef done) noexcept;

private:
    EventState* event_;
    SharedRecord shared_;
};

}  // namespace heddle::detail::cpu
