// Records of CPU events.
#pragma once

#include "core/seam/records.hpp"
#include "cpu/device/shared_event.hpp"

namespace heddle::detail::cpu {

// A CPU event's `native` points to a CompletionRef: the completion of the event's newest record. If
// processes share the event, `native` points to a SharedEvent.
inline SharedEvent& shared_event(const EventState& event) noexcept {
    return *static_cast<SharedEvent*>(event.native);
}

/// Returns the completion of an event's newest record. Returns null if the event has no record, or
/// if that record is known to have completed.
CompletionRef newest_record(const EventState& event);
/// Records an event in two steps. Only the constructor can fail. Records nothing without make().
class EventRecord {
public:
    /// Prepares the event's next record, which marks a submission on the stream.
    EventRecord(EventState& event, const StreamRecord& stream);
    /// Makes `done` the event's newest record.
    void make(CompletionRef done) noexcept;

private:
    EventState* event_;
    SharedRecord shared_;
};

}  // namespace heddle::detail::cpu
