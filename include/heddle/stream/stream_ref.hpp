// StreamRef: refers to a stream.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <heddle/detail/access.hpp>
#include <heddle/detail/conversion.hpp>
#include <heddle/detail/mistakes.hpp>
#include <heddle/device/device.hpp>
#include <heddle/stream/detail/stream_state.hpp>
#include <heddle/stream/event.hpp>

namespace heddle HEDDLE_VISIBLE {

class Stream;

namespace detail {
/// Types from which some other libraries construct a stream: names and numbers.
template <class N>
concept NameOrNumber = std::integral<N> || std::convertible_to<const N&, std::string_view>;
}  // namespace detail

/// Refers to a stream, without owning it. One pointer wide; pass it by value.
///
///     void twice(StreamRef stream, View<float> x) {
///         launch(stream, Scale{}, dim(x.size()), 2.0f, x);
///     }
///     twice(side, x);  // side: a Stream
///
/// Order: work on a stream runs in the order in which it was enqueued. wait_stream() and
/// wait_event() order it after work of other streams.
///
/// Lifetime: a default-constructed StreamRef refers to no stream, and using it throws UsageError.
/// So does using it after the stream was destroyed, at least until 1024 more streams of the device
/// have been destroyed; later it may refer to a new stream.
///
/// Errors: if work on a stream fails, the stream is poisoned: synchronize() and is_complete() throw
/// the failure, and later work is dropped until clear_error().
///
/// Thread-safe: many threads can use one stream concurrently; each thread's work stays in order.
class StreamRef {
public:
    StreamRef() noexcept : state_(&detail::null_stream()) {}
    /// Deleted: write current_stream(device).
    template <std::same_as<Device> D>
    StreamRef(D, mistake::use_current_stream_of_the_device = {}) = delete;
    /// Deleted: write wrap_stream(native) (heddle/cuda.hpp).
    template <std::same_as<CUstream_st*> Native>
    StreamRef(Native, mistake::use_wrap_stream = {}) = delete;
    /// Deleted: write `stream` in place of `&stream`.
    template <class S>
        requires std::same_as<std::remove_const_t<S>, Stream>
    StreamRef(S*, mistake::pass_the_stream_itself_and_not_its_address = {}) = delete;
    /// Deleted: write wait_event(event).
    template <std::same_as<Event> E> StreamRef(const E&, mistake::use_wait_event = {}) = delete;

    /// Returns whether it refers to a stream that has not been destroyed. For how long the answer
    /// is reliable, see the class.
    explicit operator bool() const noexcept {
        return (state_->flags.load(std::memory_order_relaxed) & detail::stream_flag::dead) == 0;
    }
    /// Returns the stream's device.
    Device device() const noexcept { return state_->device; }
    int priority() const noexcept;      ///< the clamped priority
    std::uint64_t id() const noexcept;  ///< unique in this process; never reused
    /// Returns the name in StreamOptions or, without one, a name like "stream 12".
    std::string name() const;

    /// Orders all later work on this stream after all work already enqueued on `other`, which can
    /// be of any device. Elided (left out) if that order provably holds already. Never blocks. A
    /// failure of that work poisons this stream.
    ///
    /// Throws UsageError if a stream was destroyed, or if this stream is capturing and `other` does
    /// not take part in the same capture.
    void wait_stream(StreamRef other, Where where = {}) const;

    /// Orders all later work on this stream after the event's newest record. Otherwise the same as
    /// wait_stream().
    void wait_event(const Event& event, Where where = {}) const;

    /// Returns a new event (from the device's pool), recorded on this stream.
    [[nodiscard]] Event record_event(EventOptions options = {}, Where where = {}) const;
    /// Records `event` on this stream. Throws UsageError if it is of another device.
    void record_event(Event& event, Where where = {}) const;

    /// Blocks the calling thread until all work already enqueued on this stream has completed.
    /// Throws the stream's failure if its work failed, and UsageError in host functions and while
    /// the stream is capturing.
    void synchronize(Where where = {}) const;

    /// Returns whether all work enqueued on this stream has completed. Never blocks. Throws the
    /// stream's failure once it is idle, and UsageError while it is capturing.
    [[nodiscard]] bool is_complete(Where where = {}) const;

    /// Returns whether this stream takes part in a graph capture, heddle's or a native one.
    bool is_capturing(Where where = {}) const;

    /// Returns whether its work is known to have failed; later work is then dropped. Never blocks.
    bool is_poisoned() const;
    /// Blocks until the stream is idle, clears its failure and makes it usable again. Returns the
    /// failure, or null if there was none. Throws DeviceLost if the device is lost, which cannot be
    /// cleared, and UsageError as synchronize() does.
    std::exception_ptr clear_error(Where where = {}) const;

    /// Converts to another library's stream, if the header of heddle/with/ for it is included.
    template <class To>
        requires detail::ConvertsTo<StreamRef, To>
    operator To() const {
        return detail::convert_to<To>(*this);
    }
    /// Deleted: write with_native(stream, [&](cudaStream_t native) { library_call(native); }), or
    /// native_handle(stream) for code that keeps the handle (heddle/cuda.hpp).
    template <std::same_as<CUstream_st*> with_native_lends_a_handle_and_native_handle_returns_one>
    operator with_native_lends_a_handle_and_native_handle_returns_one() const = delete;

    friend bool operator==(StreamRef a, StreamRef b) noexcept { return a.state_ == b.state_; }
    /// Orders streams in an unspecified way that does not change; for sets and maps.
    friend std::strong_ordering operator<=>(StreamRef a, StreamRef b) noexcept {
        return detail::order_of(a.state_, b.state_);
    }

protected:
    friend detail::Access;
    explicit StreamRef(detail::StreamState& state) noexcept : state_(&state) {}

    detail::StreamState* state_;
};

inline StreamRef detail::Access::stream(StreamState& state) noexcept { return StreamRef(state); }
inline detail::StreamState& detail::Access::state(StreamRef stream) noexcept {
    return *stream.state_;
}

}  // namespace heddle
