#include "cpu/device/native_event.hpp"

#include <utility>

namespace heddle::detail::cpu {

CompletionRef newest_record(const EventState& event) {
    if (event.options.interprocess) return shared_event(event).newest();
    return event.native != nullptr ? *static_cast<CompletionRef*>(event.native) : CompletionRef();
}

EventRecord::EventRecord(EventState& event, const StreamRecord& stream)
    : event_(&event),
      shared_(event.options.interprocess ? shared_event(event).prepare(stream.id.load())
                                         : SharedRecord()) {
    if (!event.options.interprocess && event.native == nullptr) event.native = new CompletionRef;
}

void EventRecord::make(CompletionRef done) noexcept {
    if (event_->options.interprocess) shared_.make(done);
    else *static_cast<CompletionRef*>(event_->native) = std::move(done);
}

}  // namespace heddle::detail::cpu
