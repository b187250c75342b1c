// Side by side, joined.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <span>
#include <type_traits>

#include <heddle/scope.hpp>

namespace heddle {

namespace detail {

/// Branches of one fork_join: streams from a pool of each device, ordered after `base`; join() orders base after them.
class Fork {
public:
    explicit Fork(StreamRef base, std::size_t branches, SourceLocation where);
    ~Fork();  ///< joins what was not joined; reports
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    StreamRef branch(Device device);
    StreamRef taken(std::size_t i) const noexcept;  ///< the stream of the i-th call of branch()
    void join();

private:
    struct Impl;
    Impl* impl_;
};

/// A stream, and where the caller named it: after a pack of functions no defaulted argument can say it.
struct ForkBase {
    StreamRef stream;
    SourceLocation where;
    ForkBase(StreamRef s, SourceLocation w = SourceLocation::current()) noexcept : stream(s), where(w) {}
};

[[noreturn]] void throw_no_streams(SourceLocation where);

template <class F> void run_branch(Fork& fork, Device device, F& f, SourceLocation where) {
    StreamRef stream = fork.branch(device);
    ScopedStream in(stream, {.wait_on_enter = false}, where);
    if constexpr (std::invocable<F&, StreamRef>) f(stream);
    else f();
}

/// `f` with the number of its branch, and with the stream if it takes that too.
template <class F> auto numbered(F& f, std::size_t i) {
    return [&f, i](StreamRef stream) {
        if constexpr (std::invocable<F&, std::size_t, StreamRef>) f(i, stream);
        else f(i);
    };
}

}  // namespace detail

template <class F>
concept Branch = std::invocable<F&> || std::invocable<F&, StreamRef>;

/// Calls each callable once, on this thread, each with a stream of its own as the current stream (it may take it as an argument).
/// All the streams are ordered after `base`, and `base` is ordered after all of them. What a callable throws comes
/// out after the streams were joined; later callables are then not called.
template <Branch... F>
    requires(sizeof...(F) > 0)
void fork_join(detail::ForkBase base, F&&... branches) {
    detail::Fork fork(base.stream, sizeof...(F), base.where);
    const Device device = base.stream.device();
    (detail::run_branch(fork, device, branches, base.where), ...);
    fork.join();
}
/// The same from the current stream. Its errors cannot say where it was called.
template <Branch F, Branch... Rest> void fork_join(F&& first, Rest&&... rest) {
    fork_join(detail::ForkBase(current_stream(), SourceLocation()), first, rest...);
}

/// `count` branches: calls f(0), f(1), ... each with a stream of its own as the current stream (f may take it as its second argument).
template <class F>
void fork_join_n(StreamRef base, std::size_t count, F&& f, SourceLocation where = SourceLocation::current()) {
    if (count == 0) return;
    detail::Fork fork(base, count, where);
    for (std::size_t i = 0; i < count; ++i) {
        auto call = detail::numbered(f, i);
        detail::run_branch(fork, base.device(), call, where);
    }
    fork.join();
}
template <class F>
void fork_join_n(std::size_t count, F&& f, SourceLocation where = SourceLocation::current()) {
    fork_join_n(current_stream(), count, f, where);
}

/// A branch on each device: calls f(0), f(1), ... for devices[0], devices[1], ..., each with its device current and a stream of its own
/// there (f may take it as its second argument). All are ordered after `base`, whatever its device, and base after all of them. A device may be
/// named several times; CPU and CUDA devices mix. Exceptions as with fork_join().
///
/// Only `base` is ordered. The current streams of the other devices are not: a branch does not wait for what they were given before, and they do not
/// wait for the branch. Before they use its arrays (a DeviceGroup without streams named, a ScopedDevice): current_stream(d).wait_stream(base).
template <class F>
void fork_join_devices(StreamRef base, std::span<const Device> devices, F&& f,
                       SourceLocation where = SourceLocation::current()) {
    if (devices.empty()) return;
    detail::Fork fork(base, devices.size(), where);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        auto call = detail::numbered(f, i);
        detail::run_branch(fork, devices[i], call, where);
    }
    fork.join();
}
template <class F>
void fork_join_devices(StreamRef base, std::initializer_list<Device> devices, F&& f,
                       SourceLocation where = SourceLocation::current()) {
    fork_join_devices(base, std::span<const Device>(devices.begin(), devices.size()), f, where);
}
template <class F>
void fork_join_devices(std::initializer_list<Device> devices, F&& f,
                       SourceLocation where = SourceLocation::current()) {
    fork_join_devices(current_stream(), std::span<const Device>(devices.begin(), devices.size()), f, where);
}
template <class F>
void fork_join_devices(std::span<const Device> devices, F&& f,
                       SourceLocation where = SourceLocation::current()) {
    fork_join_devices(current_stream(), devices, f, where);
}

struct ForkEachOptions {
    std::size_t streams = 16;  ///< at least 1; never more than there are calls
};

/// Many small pieces of work: calls f(0), f(1), ... f(count - 1), with `streams` branches as the current stream in turn (f may take
/// it as its second argument). Launches take time on the host (2.6 µs each on CUDA), so with fork_join_n() the last of many
/// branches begins late; dealt out like this, all are busy from the start. Order and exceptions as with fork_join().
template <class F>
void fork_join_each(StreamRef base, std::size_t count, F&& f, ForkEachOptions options = {},
                    SourceLocation where = SourceLocation::current()) {
    if (count == 0) return;
    if (options.streams == 0) detail::throw_no_streams(where);
    const std::size_t streams = options.streams < count ? options.streams : count;
    detail::Fork fork(base, streams, where);
    for (std::size_t i = 0; i < count; ++i) {
        const StreamRef stream = i < streams ? fork.branch(base.device()) : fork.taken(i % streams);
        ScopedStream in(stream, {.wait_on_enter = false}, where);
        detail::numbered(f, i)(stream);
    }
    fork.join();
}
template <class F>
void fork_join_each(std::size_t count, F&& f, ForkEachOptions options = {},
                    SourceLocation where = SourceLocation::current()) {
    fork_join_each(current_stream(), count, f, options, where);
}

}  // namespace heddle
