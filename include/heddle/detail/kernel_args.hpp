// What may be passed to a kernel, and what becomes of it.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/array.hpp>
#include <heddle/observer.hpp>

namespace heddle::detail {

template <class T> View<T> kernel_argument(Array<T>& a) noexcept { return a.view(); }
template <class T> View<const T> kernel_argument(const Array<T>& a) noexcept { return a.view(); }
template <class T> const T& kernel_argument(const T& value) noexcept { return value; }

template <class A>
using KernelArg = std::remove_cvref_t<decltype(kernel_argument(std::declval<std::remove_reference_t<A>&>()))>;

template <class A>
inline constexpr bool is_kernel_argument = std::is_trivially_copyable_v<KernelArg<A>>;

[[noreturn]] void throw_too_many_indices(SourceLocation where);

/// How many indices a launch has; UsageError if that is no number.
inline std::size_t count_of(const std::size_t* extent, int dimensions, const SourceLocation& where) {
    std::size_t count = 1;
    bool overflow = false, none = false;
    for (int i = 0; i < dimensions; ++i) {
        none |= extent[i] == 0;
        overflow |= __builtin_mul_overflow(count, extent[i], &count);
    }
    if (none) return 0;
    if (overflow) [[unlikely]] throw_too_many_indices(where);
    return count;
}

template <class T> struct ViewTraits { static constexpr bool is_view = false; };
template <class T> struct ViewTraits<View<T>> {
    static constexpr bool is_view = true;
    static constexpr bool writes = !std::is_const_v<T>;
};

template <class A>
void check_argument(A& a, const StreamState& stream, const SourceLocation& where) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view) check_reach(kernel_argument(a).owner(), stream, where);
}
template <class A>
void note_argument(A& a, StreamState& stream) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view) note_use(kernel_argument(a).owner(), stream);
}
template <class A>
Access access_of(std::remove_reference_t<A>& a) noexcept {
    if constexpr (ViewTraits<KernelArg<A>>::is_view) {
        const auto view = kernel_argument(a);
        return {view.data(), view.size_bytes(), ViewTraits<KernelArg<A>>::writes};
    } else return {nullptr, 0, false};
}

template <std::size_t>
struct IndexType {
    using type = std::size_t;
};
template <class K, class Indices, class... P>
struct TakesArguments;
template <class K, std::size_t... I, class... P>
struct TakesArguments<K, std::index_sequence<I...>, P...> {
    static constexpr bool value = std::is_invocable_v<K&, typename IndexType<I>::type..., P...>;
};
template <class K, int N, class... P>
inline constexpr bool takes_arguments = TakesArguments<K, std::make_index_sequence<N>, P...>::value;

}  // namespace heddle::detail
