// Failed work: which streams it poisoned, how to go on, and how to be told in any case.
#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <heddle/detail/graph_work.hpp>
#include <heddle/detail/host_op.hpp>
#include <heddle/device.hpp>
#include <heddle/scope.hpp>
#include <heddle/stream.hpp>

namespace heddle {

/// A stream whose work failed, and why.
struct PoisonedStream {
    StreamRef stream;
    std::string name;            ///< of the stream, as StreamRef::name()
    std::exception_ptr failure;  ///< what its synchronize() would throw; not null
};

/// The streams of `device`, or of all devices, that are poisoned as far as is known without waiting: their own failures and those
/// that they took over by waiting. Changes nothing. Streams that were destroyed and the branches of fork_join are not among
/// them. Thread-safe; another thread may destroy or clear a stream of the list meanwhile.
[[nodiscard]] std::vector<PoisonedStream> poisoned_streams(Device device);
[[nodiscard]] std::vector<PoisonedStream> poisoned_streams();

/// Waits for all streams of `device`, or of all devices in use, forgets their failures, makes them usable again, and returns
/// what was forgotten. Throws UsageError, and has cleared nothing then, in host functions and while a stream of the device is
/// capturing; DeviceLost for a device that was lost, which stays so (with all devices: when the others were cleared).
std::vector<PoisonedStream> clear_errors(Device device, SourceLocation where = SourceLocation::current());
std::vector<PoisonedStream> clear_errors(SourceLocation where = SourceLocation::current());

namespace detail {

/// A function that is called once, with what made the work before it fail.
template <class F> struct CompletionFunction {
    Kept<F> function;

    static constexpr const char* pretty() noexcept { return __PRETTY_FUNCTION__; }
    static void run(void* self, std::size_t, std::size_t) { complete(self, nullptr); }
    static void complete(void* self, std::exception_ptr failure) {
        static_cast<CompletionFunction*>(self)->function(std::move(failure));
    }
    static constexpr OpType make_type() {
        OpType made = op_type<CompletionFunction>(&run, std::is_trivially_copyable_v<Kept<F>>,
                                                  "on_completion", pretty(), true);
        made.complete = &complete;
        return made;
    }
    static constexpr OpType type = make_type();
};

template <class F> inline constexpr WorkType completion_work_type{&CompletionFunction<F>::type};

/// Gives the stream an operation that has OpType::complete; records it where the stream is recorded.
void give_completion(StreamState& stream, const WorkType& type, void* self, const SourceLocation& where);

}  // namespace detail

/// Calls function(failure) on a host thread, in stream order, when everything that was given to the stream before is done or was
/// dropped. `failure` is a std::exception_ptr: null if all of it succeeded, else what synchronize() would throw. Runs on
/// poisoned streams too, where launch_host() is dropped, so whoever waits for it does not wait for ever. The failure stays: the
/// stream is as poisoned afterwards as it was before.
///
/// The rules are those of launch_host(): it may enqueue work on CPU streams, it may wait for nothing, on a CUDA stream it may not call
/// CUDA. What it throws poisons the stream, unless that is poisoned already. In a capture it becomes a node, which
/// every launch calls, the launches that are dropped because their stream is poisoned too; `failure` is then what failed in the launch or on
/// its stream before. In a condition's body it is called in every pass that is made. Throws DeviceLost where the device was lost
/// already; lost later, the function is called with that (as a node of a graph it is not).
template <class F>
    requires std::invocable < std::decay_t<F>
&, std::exception_ptr >
       void on_completion(StreamRef stream, F&& function, SourceLocation where = SourceLocation::current()) {
    detail::CompletionFunction<std::decay_t<F>> operation{std::forward<F>(function)};
    detail::give_completion(stream.state(), detail::completion_work_type<std::decay_t<F>>, &operation, where);
}
/// On the current stream of the current device.
template <class F>
    requires std::invocable < std::decay_t<F>
&, std::exception_ptr > void on_completion(F&& function, SourceLocation where = SourceLocation::current()) {
    on_completion(current_stream(), std::forward<F>(function), where);
}

}  // namespace heddle
