// Host functions that signal no other thread.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Holds a host function that signals no thread. Made by signals_nothing(), which has an example.
/// Owns the function, and is as thread-safe as the function.
template <class F> struct SignalsNothing {
    using Function = F;  ///< the function's type
    F function;          ///< the function

    /// Calls the function.
    template <class... A>
        requires std::invocable<F&, A...>
    void operator()(A&&... arguments) {
        (void)function(std::forward<A>(arguments)...);
    }
};

/// Declares that a host function signals no thread: it sets no flag, and fulfils no promise.
///
///     launch_host(stream, signals_nothing([&] { total = sum(x); }), reads(x));
///
/// The ordering checker (heddle/observe/check.hpp) assumes that a host function with state may
/// signal a thread. Such a signal could order all earlier work before everything that the program
/// enqueues later. So the checker reports races across such a function as possible, not certain. A
/// function that signals nothing, or has no state, adds no order beyond that of its stream.
///
/// For launch_host(), host_node() and on_completion(). Has no other effect.
template <class F> SignalsNothing<std::decay_t<F>> signals_nothing(F&& function) {
    return {std::forward<F>(function)};
}

/// The old name of signals_nothing().
template <class F>
[[deprecated("write signals_nothing(function)")]] SignalsNothing<std::decay_t<F>> quiet(
    F&& function) {
    return signals_nothing(std::forward<F>(function));
}
/// The old name of SignalsNothing.
template <class F> using Quiet [[deprecated("use SignalsNothing")]] = SignalsNothing<F>;

namespace detail {
template <class F> inline constexpr bool signals_no_thread = false;
template <class F> inline constexpr bool signals_no_thread<SignalsNothing<F>> = true;
}  // namespace detail

}  // namespace heddle
