// A host function that is called with the success or failure of earlier work.
#pragma once

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

#include <heddle/launch/detail/work.hpp>
#include <heddle/stream/detail/host_op.hpp>
#include <heddle/stream/scope.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// The closure of on_completion(). The function is called once, with the failure of earlier work.
template <class F> struct CompletionFunction {
    Kept<F> function;

    static constexpr const char* pretty() noexcept {
        if constexpr (signals_no_thread<F>)
            return CompletionFunction<typename F::Function>::pretty();
        else return __PRETTY_FUNCTION__;
    }
    static void run(void* self, std::size_t, std::size_t) { complete(self, nullptr); }
    static void complete(void* self, std::exception_ptr failure) {
        static_cast<CompletionFunction*>(self)->function(std::move(failure));
    }
    static void opaque(const void* self, OpaquePart* to) {
        detail::add_opaque_function(static_cast<const CompletionFunction*>(self)->function, to);
    }
    static constexpr OpType make_type() {
        OpType made = op_type<CompletionFunction>(&run, std::is_trivially_copyable_v<Kept<F>>,
                                                  "on_completion", pretty(), true);
        made.complete = &complete;
        return made;
    }
    static constexpr OpType type = make_type();
};

template <class F>
concept CompletionCallable = std::invocable<std::decay_t<F>&, std::exception_ptr>;

template <class F>
inline constexpr WorkType completion_work_type{.op = &CompletionFunction<F>::type,
                                               .signals = host_signals<F>,
                                               .opaque_parts = may_hold_words<F>,
                                               .opaque = &CompletionFunction<F>::opaque};

/// Enqueues an operation whose OpType has a member `complete`, or records it if the stream is being
/// recorded.
void give_completion(StreamState& stream, const WorkType& type, void* self,
                     const SourceLocation& where);

}  // namespace detail

/// Calls function(failure) on a host thread, in stream order, once all work already enqueued on the
/// stream has completed or was dropped. `failure` is a std::exception_ptr: null if all of that work
/// succeeded, else the exception that synchronize() would throw.
///
///     on_completion(stream, [&](std::exception_ptr failure) {
///         failure ? promise.set_exception(failure) : promise.set_value();
///     });
///
/// The function is also called on poisoned streams, where launch_host() is dropped, so a wait for
/// the call always ends. The stream stays poisoned.
///
/// The rules of launch_host() apply: the function may enqueue work on CPU streams, must not wait,
/// and must not call CUDA if it runs on a CUDA stream. An exception that it throws poisons the
/// stream unless it is poisoned already.
///
/// In a capture the call becomes a node. Every launch of the graph calls the function, even a
/// launch that is dropped because its stream is poisoned; `failure` is the failure of the launch or
/// of its stream. In the body of a conditional node it is called once per executed pass.
///
/// Throws DeviceLost if the device is already lost. If the device is lost later, the function is
/// called with DeviceLost, unless it is a node of a graph.
template <detail::CompletionCallable F>
void on_completion(StreamRef stream, F&& function, Where where = {}) {
    detail::CompletionFunction<std::decay_t<F>> operation{std::forward<F>(function)};
    detail::give_completion(detail::Access::state(stream),
                            detail::completion_work_type<std::decay_t<F>>, &operation, where);
}
/// Deleted: the function must accept a std::exception_ptr.
template <class F>
    requires(!detail::CompletionCallable<F>)
void on_completion(StreamRef, F&&, mistake::a_completion_takes_a_std_exception_ptr = {}) = delete;
/// Does the same on the current stream of the current device.
template <detail::CompletionCallable F> void on_completion(F&& function, Where where = {}) {
    on_completion(current_stream(), std::forward<F>(function), where);
}

}  // namespace heddle
