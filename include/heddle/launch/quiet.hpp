// Host functions that tell nobody that they run.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace heddle {

/// A host function that quiet() was given. It is called as the function is.
template <class F> struct Quiet {
    using Function = F;  ///< its type
    F function;          ///< the function

    /// Calls the function.
    template <class... A>
        requires std::invocable<F&, A...>
    void operator()(A&&... arguments) {
        (void)function(std::forward<A>(arguments)...);
    }
};

/// Says that a host function tells no thread that it runs: it sets no flag, and fulfils no promise.
///
///     launch_host(stream, quiet([&] { total = sum(x); }), reads(x));
///
/// The ordering checker (heddle/check.hpp) takes it that a host function with state may order what
/// precedes it before all that the program enqueues later, and calls races across it possible. A
/// quiet one, or one without state, makes no order but that of its stream. For launch_host(),
/// host_node() and on_completion(). Nothing else is changed by it.
template <class F> Quiet<std::decay_t<F>> quiet(F&& function) {
    return {std::forward<F>(function)};
}

namespace detail {
template <class F> inline constexpr bool is_quiet = false;
template <class F> inline constexpr bool is_quiet<Quiet<F>> = true;
}  // namespace detail

}  // namespace heddle
