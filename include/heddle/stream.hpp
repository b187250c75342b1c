// Streams: queues of work on one device, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <heddle/detail/stream_state.hpp>
#include <heddle/device.hpp>
#include <heddle/event.hpp>

namespace heddle {

struct StreamOptions {
    /// Smaller is more urgent; clamped to the device's range. StreamRef::priority() tells the real one.
    int priority = 0;
    /// Shows in errors and to observers. Empty: "stream 12".
    std::string name = {};
};

/// Refers to a stream; one pointer wide, passed by value. Refers to nothing when default-constructed: every use
/// then throws UsageError, as does every use after the stream was destroyed.
/// Thread-safety: a stream may be used from many threads at once; what each gives it stays in that thread's order.
class StreamRef {
public:
    StreamRef() noexcept : state_(&detail::null_stream()) {}
    explicit StreamRef(detail::StreamState& state) noexcept : state_(&state) {}

    explicit operator bool() const noexcept {
        return (state_->flags.load(std::memory_order_relaxed) & detail::stream_flag::dead) == 0;
    }
    Device device() const noexcept { return state_->device; }
    int priority() const noexcept;      ///< the real one, after clamping
    std::uint64_t id() const noexcept;  ///< unique in this process, never used again
    std::string name() const;

    /// Orders what this stream is given from now on after what `other` has been given until now, on whatever device
    /// either is. Never blocks. Elided (left out) when already so.
    void wait_stream(StreamRef other, SourceLocation where = SourceLocation::current()) const;

    /// Orders what this stream is given from now on after the event's newest record. Never blocks.
    void wait_event(const Event& event, SourceLocation where = SourceLocation::current()) const;

    /// A new event (from the device's pool), recorded here.
    [[nodiscard]] Event record_event(EventOptions options = {},
                                     SourceLocation where = SourceLocation::current()) const;
    /// Records `event`, which must be of this device, here.
    void record_event(Event& event, SourceLocation where = SourceLocation::current()) const;

    /// Blocks the calling thread until everything given to this stream so far is done. Throws what made it fail;
    /// UsageError in host functions and while the stream is capturing.
    void synchronize(SourceLocation where = SourceLocation::current()) const;

    /// Whether everything given to this stream is done. Never blocks; throws as synchronize() does.
    [[nodiscard]] bool is_complete(SourceLocation where = SourceLocation::current()) const;

    /// Whether this stream takes part in a graph capture, heddle's or anyone's.
    bool is_capturing(SourceLocation where = SourceLocation::current()) const;

    /// Whether its work failed, as far as is known without waiting. Later work on it is then dropped.
    bool is_poisoned() const;
    /// Waits for the stream, forgets its failure and makes it usable again. The failure is returned as exception (null: none).
    /// A device that was lost stays lost (throws DeviceLost).
    std::exception_ptr clear_error(SourceLocation where = SourceLocation::current()) const;

    detail::StreamState& state() const noexcept { return *state_; }  ///< for the library

    friend bool operator==(StreamRef a, StreamRef b) noexcept { return a.state_ == b.state_; }

protected:
    detail::StreamState* state_;
};

/// Owns a stream. Move-only. Destroying it neither blocks nor loses work.
class Stream : public StreamRef {
public:
    /// A stream of the current device.
    [[nodiscard]] Stream() : Stream(Device()) {}
    /// A stream of `device`. CUDA streams are non-blocking: never ordered with the legacy default stream.
    [[nodiscard]] explicit Stream(Device device, StreamOptions options = {},
                                  SourceLocation where = SourceLocation::current());
    [[nodiscard]] explicit Stream(StreamOptions options, SourceLocation where = SourceLocation::current())
        : Stream(Device(), std::move(options), where) {}
    Stream(Stream&& other) noexcept : StreamRef(*other.state_) { other.state_ = &detail::null_stream(); }
    Stream& operator=(Stream&& other) noexcept;
    ~Stream();

    /// Takes over a state made by the library (wrap_stream).
    static Stream adopt(detail::StreamState& state) noexcept { return Stream(state); }

    /// The calling thread's own stream of `device` (default: the current one). Lives as long as the thread; its
    /// unfinished work outlives it.
    static StreamRef per_thread(Device device = Device());

private:
    explicit Stream(detail::StreamState& state) noexcept : StreamRef(state) {}
};

/// a.wait_stream(b) as a function; the one-argument forms act on the current stream of the current device.
void wait_stream(StreamRef waiter, StreamRef other, SourceLocation where = SourceLocation::current());
void wait_stream(StreamRef other, SourceLocation where = SourceLocation::current());
void wait_event(StreamRef waiter, const Event& event, SourceLocation where = SourceLocation::current());
void wait_event(const Event& event, SourceLocation where = SourceLocation::current());
[[nodiscard]] Event record_event(StreamRef stream, EventOptions options = {},
                                 SourceLocation where = SourceLocation::current());
[[nodiscard]] Event record_event(EventOptions options = {}, SourceLocation where = SourceLocation::current());
void record_event(StreamRef stream, Event& event, SourceLocation where = SourceLocation::current());
void record_event(Event& event,
                  SourceLocation where = SourceLocation::current());  ///< on its device's current stream

/// Blocks until all work given to `stream` is done. See StreamRef::synchronize().
void synchronize_stream(StreamRef stream, SourceLocation where = SourceLocation::current());
/// Blocks until all work given to all streams of `device` (default: the current one) is done; throws the first failure.
void synchronize_device(Device device = Device(), SourceLocation where = SourceLocation::current());
/// Blocks until all devices that have been used are idle.
void synchronize(SourceLocation where = SourceLocation::current());

}  // namespace heddle

template <> struct std::hash<heddle::StreamRef> {
    std::size_t operator()(heddle::StreamRef s) const noexcept {
        return std::hash<const void*>()(&s.state());
    }
};
