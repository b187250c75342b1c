// The calling thread's current device and current streams.
#pragma once

#include <concepts>
#include <type_traits>

#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// An rvalue that owns a stream, which would be destroyed at the end of the statement.
template <class S>
concept StreamOwner = !std::is_lvalue_reference_v<S> && std::derived_from<S, StreamRef> &&
                      !std::same_as<S, StreamRef>;
}  // namespace detail

/// Returns the calling thread's current stream of `device`, by default of the current device.
StreamRef current_stream();
StreamRef current_stream(Device device);

/// Returns the initial current stream of `device`, by default of the current one. All threads share
/// it. It is asynchronous like any other stream, and is not CUDA's legacy default stream.
StreamRef default_stream(Device device = current_device());

/// Options of set_stream().
struct SetStreamOptions {
    bool wait = true;  ///< the new stream first waits for the one it replaces
};

/// Makes `stream` the calling thread's current stream of its device until the innermost open scope
/// ends; without an open scope, permanently. Does not change the current device. Prefer
/// ScopedStream for a temporary change. Throws as ScopedStream does.
void set_stream(StreamRef stream, SetStreamOptions options = {}, Where where = {});

template <detail::StreamOwner Owner>
void set_stream(Owner&&, SetStreamOptions = {}, mistake::stream_ends_first = {}) = delete;

/// Makes `device` the calling thread's current device until the innermost open scope ends; without
/// an open scope, permanently. Inserts no wait.
void set_device(Device device, Where where = {});

}  // namespace heddle
