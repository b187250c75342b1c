// launch_host(): calls a function on a host thread, in stream order.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include <heddle/detail/mistakes.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/operation/host_access.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
template <class F>
void launch_host_function(StreamRef stream, F&& function, std::span<const MemoryArgument> memory,
                          const SourceLocation& where) try {
    using Operation = HostFunction<std::decay_t<F>>;
    const CallMark mark("launch_host", where);
    Operation operation{std::forward<F>(function)};
    submit_host_function(Access::state(stream), host_work_type<std::decay_t<F>>, &operation, memory,
                         where);
} catch (...) {
    rethrow_as_error("launch_host", where);
}
}  // namespace detail

/// Calls function() once on a host thread, in stream order. Asynchronous. The function is moved
/// into the stream and destroyed after the call. An exception from it poisons the stream. On a
/// poisoned stream the function is not called.
///
/// The function may enqueue work on CPU streams. It must not wait for anything (UsageError), and on
/// a CUDA stream it must not call CUDA.
///
/// On a CPU stream, the function may run on a thread that waits for this stream, or for later work
/// of another stream. So do not wait while you hold a lock that the function takes; a recursive
/// mutex would not exclude it. Calls that only enqueue never run the function.
template <detail::HostCallable F>
void launch_host(StreamRef stream, F&& function, Where where = {}) {
    detail::launch_host_function(stream, std::forward<F>(function), {}, where);
}
template <detail::HostCallable F> void launch_host(F&& function, Where where = {}) {
    launch_host(current_stream(), std::forward<F>(function), where);
}
/// Deleted for functions with parameters: write launch_host(stream, [=] { function(arguments); }).
template <class Why = mistake::a_host_function_takes_no_arguments_so_capture_them, class F,
          class... A>
    requires(!detail::HostCallable<F> && !std::is_arithmetic_v<std::remove_cvref_t<F>>)
Why launch_host(StreamRef, F&&, A&&...) = delete;
/// Deleted for numbers, as in launch_host(stream, std::puts("now")).
template <class Why = mistake::this_is_the_result_of_a_call_so_write_a_lambda, class F, class... A>
    requires(std::is_arithmetic_v<std::remove_cvref_t<F>>)
Why launch_host(StreamRef, F&&, A&&...) = delete;

/// Calls a function whose arrays and views are declared with reads() and writes(). The call counts
/// as a use of this memory, and observers see the accesses. Otherwise the same as without
/// declarations.
///
///     launch_host(stream, [&] { total = sum(x); }, reads(x));
template <detail::HostCallable F, std::derived_from<DeclaredAccess>... A>
void launch_host(StreamRef stream, F&& function, const DeclaredAccess& first, const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    detail::launch_host_function(stream, std::forward<F>(function), memory, first.where());
}
template <detail::HostCallable F, std::derived_from<DeclaredAccess>... A>
void launch_host(F&& function, const DeclaredAccess& first, const A&... more) {
    launch_host(current_stream(), std::forward<F>(function), first, more...);
}

}  // namespace heddle
