// Whether work may signal others without heddle's knowledge: by writing a flag that the host polls,
// for example. Derived from types only; see docs/adr/0032.
#pragma once

#include <cstdint>
#include <type_traits>

#include <heddle/stream/signals_nothing.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Whether work may signal others while it runs.
enum class Signals : std::uint8_t {
    no,
    on_host,  ///< if it runs on a host thread
    yes,
};

/// Whether a host function may signal. It cannot signal if it holds nothing to signal through, or
/// if it is declared quiet.
template <class F>
inline constexpr Signals host_signals =
    signals_no_thread<F> || (std::is_empty_v<F> && std::is_trivially_copyable_v<F>) ? Signals::no
                                                                                    : Signals::yes;

/// Number converts to numbers only, Member to classes and unions other than T, and Anything to any
/// type. Declared only.
struct Number {
    template <class T>
        requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
    operator T() const;
};
template <class T> struct Member {
    template <class M>
        requires((std::is_class_v<M> || std::is_union_v<M>) && !std::is_same_v<M, T>)
    operator M() const;
};
struct Anything {
    template <class T> operator T() const;
};

/// Returns whether the aggregate T consists of numbers and arrays of numbers, and nothing else: no
/// class or union.
template <class T, class... N> constexpr bool consists_of_numbers() {
    if constexpr (sizeof...(N) > 16 || requires { T{N()..., Member<T>()}; }) return false;
    else if constexpr (requires { T{N()..., Number()}; })
        return consists_of_numbers<T, N..., Number>();
    else return sizeof...(N) != 0 && !requires { T{N()..., Anything()}; };
}

/// Returns whether an object of type T, which is copied as bytes, cannot hold a pointer or a
/// reference. For a closure, this depends on its alignment only.
template <class T> constexpr bool holds_no_pointer() {
    if constexpr (std::is_empty_v<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>) return true;
    else if constexpr (alignof(T) < alignof(void*)) return true;
    else if constexpr (std::is_aggregate_v<T> && !std::is_union_v<T> &&
                       std::is_default_constructible_v<T>)
        return consists_of_numbers<T>();
    else return false;
}

}  // namespace detail
}  // namespace heddle
