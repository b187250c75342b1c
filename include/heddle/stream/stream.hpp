// Streams: in-order queues of work on one device.
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include <heddle/stream/event.hpp>
#include <heddle/stream/stream_ref.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Options of a new Stream.
struct StreamOptions {
    /// Smaller is more urgent. Clamped to the device's range; StreamRef::priority() returns the
    /// result.
    int priority = 0;
    /// Appears in errors and is visible to observers. If empty, the name is like "stream 12".
    std::string name = {};
};

/// Owns a stream. Move-only.
///
///     Stream side{{.priority = -1, .name = "side"}};
///     side.wait_stream(current_stream());
///     launch(side, Scale{}, dim(n), 10.0f, x);
///     side.synchronize();
///
/// Order: work on a stream runs in the order in which it was enqueued. Streams are not ordered with
/// each other: see StreamRef::wait_stream().
///
/// Lifetime: destroying a stream never blocks, and its pending work still completes. A failure that
/// no call has thrown is passed to the report hook.
///
/// Errors: making a stream throws OutOfMemory, and NativeError if the driver or the operating
/// system refuses. A moved-from Stream is an empty StreamRef.
///
/// Thread-safety: that of StreamRef. Moving and destroying need exclusive access.
class Stream : public StreamRef {
public:
    /// Makes a stream of the current device.
    [[nodiscard]] Stream() : Stream(current_device()) {}
    /// Makes a stream of `device`. CUDA streams are non-blocking: not ordered with the legacy
    /// default stream.
    [[nodiscard]] explicit Stream(Device device, StreamOptions options = {}, Where where = {});
    /// Makes a stream of the current device.
    [[nodiscard]] explicit Stream(StreamOptions options, Where where = {})
        : Stream(current_device(), std::move(options), where) {}
    /// Deleted: write Stream({.name = "copy"}), Stream(device, {.priority = -1}) or
    /// Stream(Device("cuda:1")).
    template <detail::NameOrNumber N>
    explicit Stream(const N&, mistake::a_Device_or_StreamOptions_with_a_name = {}) = delete;
    template <detail::NameOrNumber N>
    Stream(Device, const N&, mistake::name_and_priority_are_in_StreamOptions = {}) = delete;
    /// Deleted: write wrap_stream(native) (heddle/cuda.hpp).
    template <std::same_as<CUstream_st*> Native>
    explicit Stream(Native, mistake::use_wrap_stream = {}) = delete;
    /// Deleted: hold a StreamRef, or make the stream the current one with set_stream().
    template <std::same_as<StreamRef> S>
    Stream(S, mistake::a_Stream_owns_so_use_a_StreamRef_or_set_stream = {}) = delete;
    /// Deleted: a stream is moved; pass it as a StreamRef.
    Stream(const Stream&, mistake::streams_are_moved_and_not_copied = {}) = delete;
    Stream(Stream&& other) noexcept : StreamRef(*other.state_) {
        other.state_ = &detail::null_stream();
    }
    Stream& operator=(Stream&& other) noexcept;
    ~Stream();

    /// Returns the calling thread's own stream of `device`, by default of the current one. It lives
    /// as long as the thread; pending work still completes after that.
    static StreamRef per_thread(Device device = current_device());

private:
    friend detail::Access;
    explicit Stream(detail::StreamState& state) noexcept : StreamRef(state) {}
};

/// Makes the current stream of the current device wait: see StreamRef::wait_stream().
void wait_stream(StreamRef other, Where where = {});
/// Makes the current stream of the current device wait: see StreamRef::wait_event().
void wait_event(const Event& event, Where where = {});
/// Records a new event on the current stream of the current device: see StreamRef::record_event().
[[nodiscard]] Event record_event(EventOptions options = {}, Where where = {});
/// Records on the current stream of the event's device.
void record_event(Event& event, Where where = {});

/// Deprecated: write waiter.wait_stream(other).
[[deprecated("write waiter.wait_stream(other)")]] void wait_stream(StreamRef waiter,
                                                                   StreamRef other,
                                                                   Where where = {});
/// Deprecated: write waiter.wait_event(event).
[[deprecated("write waiter.wait_event(event)")]] void wait_event(StreamRef waiter,
                                                                 const Event& event,
                                                                 Where where = {});
/// Deprecated: write stream.record_event(options).
[[nodiscard, deprecated("write stream.record_event(options)")]] Event record_event(
    StreamRef stream, EventOptions options = {}, Where where = {});
/// Deprecated: write stream.record_event(event).
[[deprecated("write stream.record_event(event)")]] void record_event(StreamRef stream, Event& event,
                                                                     Where where = {});

/// Calls stream.synchronize().
void synchronize_stream(StreamRef stream, Where where = {});
/// Blocks until all devices in use are idle. Calls synchronize_device() for each, and stops at the
/// first that throws.
void synchronize(Where where = {});
/// Deleted: write synchronize_stream(stream) or synchronize_device(device).
template <detail::IsStream S>
void synchronize(const S&, mistake::use_synchronize_stream = {}) = delete;
template <std::same_as<Device> D>
void synchronize(const D&, mistake::use_synchronize_device = {}) = delete;

}  // namespace heddle

template <> struct std::hash<heddle::StreamRef> {
    std::size_t operator()(heddle::StreamRef s) const noexcept {
        return std::hash<const void*>()(&heddle::detail::Access::state(s));
    }
};
