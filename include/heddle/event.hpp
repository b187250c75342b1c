// Events: points in streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <heddle/device.hpp>

namespace heddle {

class StreamRef;

namespace detail {
struct EventState;
}

struct EventOptions {
    bool timing =
        false;  ///< can be given to elapsed_time(); recording costs more (0.73 µs for 0.14 on an H200)
    bool blocking = false;      ///< host waits sleep instead of spinning (CPU devices always sleep)
    bool interprocess = false;  ///< can be shared with other processes of the host; excludes timing
    bool operator==(const EventOptions&) const = default;
};

/// Marks a point in a stream: complete when everything given to the stream before it is. May be recorded again; a
/// wait means the record that was newest when the wait was asked for. Never recorded, it is complete.
///
/// Comes from a pool per device, so that making one is cheap after the first. Move-only. Destroying it with its
/// record or waits on it pending is safe.
/// Thread-safety: as a variable: two threads may use one event, but not record it at the same time.
class Event {
public:
    /// An event of `device` (the current one by default). Throws UsageError for timing with interprocess, Unsupported
    /// where the device has no such events.
    explicit Event(Device device = Device(), EventOptions options = {},
                   SourceLocation where = SourceLocation::current());
    explicit Event(EventOptions options, SourceLocation where = SourceLocation::current())
        : Event(Device(), options, where) {}
    Event(Event&& other) noexcept;
    Event& operator=(Event&& other) noexcept;
    ~Event();

    Device device(SourceLocation where = SourceLocation::current()) const;
    EventOptions options(SourceLocation where = SourceLocation::current()) const;

    /// Records on `stream`, which must be of this event's device (UsageError otherwise).
    void record(StreamRef stream, SourceLocation where = SourceLocation::current());
    /// Records on the current stream of the event's device.
    void record(SourceLocation where = SourceLocation::current());

    /// Whether it has ever been recorded.
    bool is_recorded(SourceLocation where = SourceLocation::current()) const;
    /// True when the newest record has been reached; throws if the work before it failed.
    [[nodiscard]] bool is_complete(SourceLocation where = SourceLocation::current()) const;
    /// Blocks the calling thread until is_complete(); throws what made the work before it fail, UsageError in host
    /// functions and for events recorded in a capture.
    void synchronize(SourceLocation where = SourceLocation::current()) const;

    /// For the library. UsageError, in the name of `call`, for an event that was moved from.
    detail::EventState& state(const char* call = "Event",
                              SourceLocation where = SourceLocation::current()) const;

private:
    friend struct detail::EventState;
    explicit Event(detail::EventState* state) noexcept : state_(state) {}
    detail::EventState* state_ = nullptr;
};

/// Milliseconds between two recorded timing events of one device. Waits for both (UsageError where waiting is
/// not allowed, or an event has no timing or no record).
double elapsed_time(const Event& start, const Event& end, SourceLocation where = SourceLocation::current());

/// As Event::synchronize().
void synchronize_event(const Event& event, SourceLocation where = SourceLocation::current());

/// Bytes that let another process open an interprocess event.
struct EventHandle {
    std::array<std::byte, 64> bytes{};
    std::array<char, 32>
        bus_id{};  ///< of the GPU, since processes may number GPUs differently; empty for CPU devices
    std::int32_t device_index = 0;
    std::int32_t process = 0;  ///< that exported it
    std::uint64_t check = 0;   ///< of all the others
};
namespace detail {
/// What `check` has to be.
std::uint64_t check_of(const EventHandle& handle) noexcept;
}  // namespace detail

/// The handle of an event made with {.interprocess = true}.
EventHandle export_event(const Event& event, SourceLocation where = SourceLocation::current());
/// An event that another process exported, on the same device: what both record and wait for is one event. A wait means the record that
/// is the newest then, whoever made it. On CPU devices it tells of work that failed before it, or of a process that ended before it came to it (Error,
/// ErrorCode::work_failed). On CUDA the exported event, and the one through which it was recorded last, have to live until nobody in any process waits for
/// that record any more: a wait might never end. Throws UsageError for a handle of this process, NoDevice where this process does not see the GPU, Unsupported where the other process has ended.
Event import_event(const EventHandle& handle, SourceLocation where = SourceLocation::current());

}  // namespace heddle
