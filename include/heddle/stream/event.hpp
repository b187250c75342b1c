// Events: points in streams.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>

#include <heddle/detail/access.hpp>
#include <heddle/detail/conversion.hpp>
#include <heddle/detail/mistakes.hpp>
#include <heddle/device/device.hpp>

namespace heddle HEDDLE_VISIBLE {

class StreamRef;

namespace detail {
struct EventState;
}

/// Options of a new Event.
struct EventOptions {
    /// Lets elapsed() use the event. Recording then costs about five times as much (H200).
    bool timing = false;
    /// Host waits sleep instead of spinning; on CPU devices they always sleep.
    bool blocking = false;
    /// Lets other processes of the host import the event. Cannot be combined with timing.
    bool interprocess = false;
    bool operator==(const EventOptions&) const = default;
};

/// Marks a point in a stream; complete when all work enqueued before that point has completed. An
/// event that was never recorded is complete.
///
///     Event ready = producer.record_event();
///     consumer.wait_event(ready);  // orders consumer's later work; never blocks
///     ready.synchronize();         // blocks this thread
///
/// Order: an event can be recorded again. A wait targets the record that was newest when the wait
/// was enqueued.
///
/// Lifetime: move-only. Each device keeps a pool of events, so making one is cheap after the first.
/// Destroying an event never blocks, and is safe while its record or waits are pending.
///
/// Errors: members throw UsageError for an event that was moved from. is_complete() and
/// synchronize() throw the failure of the work before the record.
///
/// Thread-safety: that of a variable. Threads may wait for and query one event concurrently, but
/// record() needs exclusive access.
class Event {
public:
    /// Makes an event for `device`, by default the current one. Throws UsageError for timing
    /// together with interprocess, and Unsupported if the device has no such events.
    explicit Event(Device device = current_device(), EventOptions options = {}, Where where = {});
    explicit Event(EventOptions options, Where where = {})
        : Event(current_device(), options, where) {}
    Event(Event&& other) noexcept;
    /// Deleted: write wait_stream(stream) to wait for a stream, stream.record_event() for an event.
    template <detail::IsStream S>
    Event(const S&, mistake::use_wait_stream_or_record_event = {}) = delete;
    /// Deleted: write wrap_event(native, device) (heddle/cuda.hpp).
    template <std::same_as<CUevent_st*> Native>
    Event(Native, mistake::use_wrap_event = {}) = delete;
    /// Deleted: events cannot be copied; move them.
    Event(const Event&, mistake::events_are_moved_and_not_copied = {}) = delete;
    Event& operator=(Event&& other) noexcept;
    ~Event();

    /// Returns the device on whose streams the event can be recorded. Throws UsageError if the
    /// event was moved from, as all members do.
    Device device(Where where = {}) const;
    /// Returns the options that were passed to the constructor.
    EventOptions options(Where where = {}) const;

    /// Records the event on `stream`. Throws UsageError if the stream belongs to another device.
    void record(StreamRef stream, Where where = {});
    /// Records the event on the current stream of its device.
    void record(Where where = {});

    /// Returns whether the event has ever been recorded.
    bool is_recorded(Where where = {}) const;
    /// Returns whether the newest record is complete. Never blocks. Throws the failure of the work
    /// before it, and UsageError if the record was made in a capture.
    [[nodiscard]] bool is_complete(Where where = {}) const;
    /// Blocks the calling thread until the newest record is complete. Throws the failure of the
    /// work before it. Throws UsageError in host functions, and if the record was made in a
    /// capture.
    void synchronize(Where where = {}) const;

    /// Converts to another library's event, if the header of heddle/with/ for it is included.
    template <class To>
        requires detail::ConvertsTo<Event, To>
    operator To() const HEDDLE_LIFETIMEBOUND {
        return detail::convert_to<To>(*this);
    }

    /// Returns whether both are the same object. Moved-from events compare equal.
    friend bool operator==(const Event& a, const Event& b) noexcept { return a.state_ == b.state_; }
    /// Orders events in an unspecified way that does not change, even if they are moved; for sets
    /// and maps.
    friend std::strong_ordering operator<=>(const Event& a, const Event& b) noexcept {
        return detail::order_of(a.state_, b.state_);
    }

private:
    friend detail::Access;
    explicit Event(detail::EventState& state) noexcept : state_(&state) {}
    /// Throws UsageError naming `call` if the event was moved from.
    detail::EventState& state(const char* call, Where where) const;

    detail::EventState* state_ = nullptr;
};

inline detail::EventState& detail::Access::state(const Event& event, const char* call,
                                                 Where where) {
    return event.state(call, where);
}
inline detail::EventState* detail::Access::state_or_null(const Event& event) noexcept {
    return event.state_;
}

/// Returns the milliseconds between two timing events. Deprecated: see heddle/stream/elapsed.hpp.
[[deprecated("write elapsed(start, end).count()")]] double elapsed_time(const Event& start,
                                                                        const Event& end,
                                                                        Where where = {});

/// Calls event.synchronize().
void synchronize_event(const Event& event, Where where = {});

}  // namespace heddle

template <> struct std::hash<heddle::Event> {
    std::size_t operator()(const heddle::Event& e) const noexcept {
        return std::hash<const void*>()(heddle::detail::Access::state_or_null(e));
    }
};
