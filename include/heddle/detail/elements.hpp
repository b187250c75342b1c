// Calls with the elements of a tuple.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

template <class Tuple, class F, std::size_t... I>
constexpr void with_elements(Tuple& tuple, F& function, std::index_sequence<I...>) {
    function(std::get<I>(tuple)...);
}

/// Calls function(elements...), as std::apply does. For each std::apply, the compiler would
/// instantiate 29 templates (libstdc++ 12) to determine whether the call may throw.
template <class Tuple, class F> constexpr void with_elements(Tuple&& tuple, F&& function) {
    constexpr std::size_t size = std::tuple_size_v<std::remove_cvref_t<Tuple>>;
    detail::with_elements(tuple, function, std::make_index_sequence<size>());
}

}  // namespace detail
}  // namespace heddle
