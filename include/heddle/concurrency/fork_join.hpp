// Fork and join: independent work on several streams.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>

#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// The branches of one fork_join: pooled streams, ordered after `base`. join() orders `base` after
/// them.
class Fork {
public:
    explicit Fork(StreamRef base, std::size_t branches, Where where);
    ~Fork();  ///< joins if join() was not called; passes errors to the report hook
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    StreamRef branch(Device device);
    StreamRef taken(std::size_t i) const noexcept;  ///< the result of the i-th call of branch()
    void join();

private:
    struct Impl;
    Impl* impl_;
};

/// A stream with the caller's location, because no defaulted argument can follow a parameter pack.
struct ForkBase {
    StreamRef stream;
    SourceLocation where;
    ForkBase(StreamRef s, Where w = {}) noexcept : stream(s), where(w) {}
};

[[noreturn]] void throw_no_streams(Where where);
/// Throws UsageError for a negative number of calls of fork_join_n().
void check_calls(std::size_t count, Where where);

template <class F> void run_branch(Fork& fork, Device device, F& f, Where where) {
    StreamRef stream = fork.branch(device);
    ScopedStream in(stream, {.wait_on_enter = false}, where);
    if constexpr (std::invocable<F&, StreamRef>) f(stream);
    else f();
}

/// Wraps `f` as a function of the stream. Passes `i` to `f`, and the stream too if `f` takes it.
template <class F> auto numbered(F& f, std::size_t i) {
    return [&f, i](StreamRef stream) {
        if constexpr (std::invocable<F&, std::size_t, StreamRef>) f(i, stream);
        else f(i);
    };
}

}  // namespace detail

/// A callable that takes either no arguments or the stream of its branch.
template <class F>
concept BranchFunction = std::invocable<F&> || std::invocable<F&, StreamRef>;

/// Calls each callable once, in order and on the calling thread, with a branch stream of its own as
/// the current stream. A callable may take that stream as an argument.
///
///     fork_join([&] { fill(x, 1); },
///               [&](StreamRef branch) { fill(branch, y, 2); });
///
/// Order: all branches are ordered after `base`, and `base` is ordered after all of them. The call
/// does not wait for their work. Lifetime: branch streams are reused, so keep no StreamRef to them.
/// Errors: if a callable throws, later ones are not called, the branches are joined, and the
/// exception is rethrown.
template <BranchFunction... F>
    requires(sizeof...(F) > 0)
void fork_join(detail::ForkBase base, F&&... branches) {
    detail::Fork fork(base.stream, sizeof...(F), base.where);
    const Device device = base.stream.device();
    (detail::run_branch(fork, device, branches, base.where), ...);
    fork.join();
}
/// Does the same with the current stream as `base`. Errors of this overload cannot name the
/// caller's location.
template <BranchFunction F, BranchFunction... Rest> void fork_join(F&& first, Rest&&... rest) {
    fork_join(detail::ForkBase(current_stream(), SourceLocation()), first, rest...);
}

/// Options of fork_join_n().
struct ForkOptions {
    /// Number of branches, at most `count`. 0: a branch for each call.
    std::size_t streams = 0;
};

/// Calls f(0), f(1), ... f(count - 1), distributed round-robin over the branches: by default, each
/// call has a branch of its own. `f` may take the stream as its second argument. Order and
/// exceptions are those of fork_join().
///
///     fork_join_n(320, [&](std::size_t i) { launch(step, dim(64), part(i)); }, {.streams = 16});
///
/// For many small operations, set `streams`. A launch takes host time, so the last of many branches
/// starts late; with few branches, all are busy from the start (docs/measurements.md).
template <class F>
void fork_join_n(StreamRef base, std::size_t count, F&& f, ForkOptions options = {},
                 Where where = {}) {
    if (count == 0) return;
    detail::check_calls(count, where);
    const std::size_t streams =
        options.streams != 0 && options.streams < count ? options.streams : count;
    detail::Fork fork(base, streams, where);
    for (std::size_t i = 0; i < count; ++i) {
        const StreamRef stream = i < streams ? fork.branch(base.device()) : fork.taken(i % streams);
        ScopedStream in(stream, {.wait_on_enter = false}, where);
        detail::numbered(f, i)(stream);
    }
    fork.join();
}
template <class F>
void fork_join_n(std::size_t count, F&& f, ForkOptions options = {}, Where where = {}) {
    fork_join_n(current_stream(), count, f, options, where);
}
/// Does the same without options.
template <class F> void fork_join_n(StreamRef base, std::size_t count, F&& f, Where where) {
    fork_join_n(base, count, f, {}, where);
}
template <class F> void fork_join_n(std::size_t count, F&& f, Where where) {
    fork_join_n(current_stream(), count, f, {}, where);
}

/// Calls f(0), f(1), ... in one branch on each of devices[0], devices[1], ... During f(i)
/// devices[i] and the branch's stream on it are current; `f` may take the stream as its second
/// argument. A device may occur several times; CPU and CUDA devices can be mixed.
///
/// Order: all branches are ordered after `base`, which may be on any device, and `base` is ordered
/// after all of them. Exceptions are handled as in fork_join().
///
/// The current streams of the other devices are not ordered: a branch does not wait for work
/// already enqueued on them, and they do not wait for the branch. Call
/// current_stream(d).wait_stream(base) before such a stream uses a branch's arrays, for example in
/// a DeviceGroup without streams or a ScopedDevice.
template <class F>
void fork_join_devices(StreamRef base, std::span<const Device> devices, F&& f, Where where = {}) {
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
                       Where where = {}) {
    fork_join_devices(base, std::span<const Device>(devices.begin(), devices.size()), f, where);
}
template <class F>
void fork_join_devices(std::initializer_list<Device> devices, F&& f, Where where = {}) {
    fork_join_devices(current_stream(), std::span<const Device>(devices.begin(), devices.size()), f,
                      where);
}
template <class F>
void fork_join_devices(std::span<const Device> devices, F&& f, Where where = {}) {
    fork_join_devices(current_stream(), devices, f, where);
}

/// The old form of ForkOptions.
struct [[deprecated("use ForkOptions")]] ForkEachOptions {
    std::size_t streams = 16;  ///< number of branches, at least 1 (UsageError); at most `count`
};
/// The old name of fork_join_n() with options.
template <class F>
[[deprecated("write fork_join_n(base, count, f, {.streams = 16})")]] void fork_join_each(
    StreamRef base, std::size_t count, F&& f, ForkEachOptions options = {}, Where where = {}) {
    if (count == 0) return;
    if (options.streams == 0) detail::throw_no_streams(where);
    fork_join_n(base, count, f, ForkOptions{options.streams}, where);
}
template <class F>
[[deprecated("write fork_join_n(count, f, {.streams = 16})")]] void fork_join_each(
    std::size_t count, F&& f, ForkEachOptions options = {}, Where where = {}) {
    if (count == 0) return;
    if (options.streams == 0) detail::throw_no_streams(where);
    fork_join_n(count, f, ForkOptions{options.streams}, where);
}

}  // namespace heddle
