// Host functions that signal no other thread.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Holds a host function that signals no thread. Made by quiet(), which has an example. Owns the
/// function, and is as thread-safe as the function.
template <class F> struct Quiet {
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
///     launch_host(stream, quiet([&] { total = sum(x); }), reads(x));
///
/// The ordering checker (heddle/observe/check.hpp) assumes that a host function with state may
/// signal a thread. Such a signal could order all earlier work before everything that the program
/// enqueues later. So the checker reports races across such a function as possible, not certain. A
/// quiet function, or a function without state, adds no order beyond that of its stream.
///
/// For launch_host(), host_node() and on_completion(). Has no other effect.
template <class F> Quiet<std::decay_t<F>> quiet(F&& function) {
    return {std::forward<F>(function)};
}

namespace detail {
template <class F> inline constexpr bool is_quiet = false;
template <class F> inline constexpr bool is_quiet<Quiet<F>> = true;
}  // namespace detail

}  // namespace heddle
