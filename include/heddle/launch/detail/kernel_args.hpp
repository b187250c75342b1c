// Arguments of kernels: which types are allowed, their conversion, and checks.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/detail/elements.hpp>
#include <heddle/launch/detail/held_views.hpp>
#include <heddle/launch/detail/span_arguments.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/array.hpp>

namespace heddle::detail {

template <class T> View<T> kernel_argument(Array<T>& a) noexcept { return a.view(); }
template <class T> View<const T> kernel_argument(const Array<T>& a) noexcept { return a.view(); }
template <class T> const T& kernel_argument(const T& value) noexcept { return value; }
template <StandIn A> const auto& kernel_argument(const A& a) noexcept { return Access::value(a); }
// The next two are defined in heddle/launch/touching.hpp.
template <class T> View<T> kernel_argument(const KernelView<T>& a) noexcept;
template <class T> const DeclaredUse* declared_use(const KernelView<T>& a) noexcept;
template <class A> constexpr const DeclaredUse* declared_use(const A&) noexcept { return nullptr; }

template <class A>
using KernelArg =
    std::remove_cvref_t<decltype(kernel_argument(std::declval<std::remove_reference_t<A>&>()))>;

template <class K>
concept KernelObject = std::is_class_v<K>;

/// An array, a view, or a value that is copied to the device as bytes.
template <class A>
concept KernelArgument = std::is_trivially_copyable_v<KernelArg<A>>;

template <class A> inline constexpr bool is_array = false;
template <class T> inline constexpr bool is_array<Array<T>> = true;

/// Whether a kernel can write through a parameter of type P.
template <class P> inline constexpr bool is_written = true;
template <class T> inline constexpr bool is_written<View<const T>> = false;
template <class T> inline constexpr bool is_written<View2D<const T>> = false;
template <class T> inline constexpr bool is_written<const T*> = false;
template <AnySpan S>
inline constexpr bool is_written<S> = !std::is_const_v<typename S::element_type>;

/// The parameters of a call operator. The primary template is for kernels with several or templated
/// call operators, whose parameters depend on the arguments.
template <class F> struct Parameters {
    static constexpr bool are_known = false, has_spans = false;
    template <class A> static constexpr bool writes(std::size_t) noexcept { return is_written<A>; }
    static constexpr bool is_whole(std::size_t) noexcept { return false; }
};
template <class... P> struct ParameterList {
    static constexpr bool are_known = true;
    static constexpr bool has_spans = (SpanLike<std::remove_cvref_t<P>> || ...);
    static constexpr bool all[sizeof...(P) + 1] = {is_written<std::remove_cvref_t<P>>..., true};
    static constexpr bool whole[sizeof...(P) + 1] = {std::is_integral_v<std::remove_cvref_t<P>>...,
                                                     false};
    using Types = std::tuple<P...>;
    /// Whether the kernel can write through the parameter i.
    template <class A> static constexpr bool writes(std::size_t i) noexcept { return all[i]; }
    /// Whether the parameter i is an integer or a bool.
    static constexpr bool is_whole(std::size_t i) noexcept { return whole[i]; }
};
template <class R, class C, class... P> struct Parameters<R (C::*)(P...)> : ParameterList<P...> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...) const> : ParameterList<P...> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...) noexcept> : ParameterList<P...> {};
template <class R, class C, class... P>
struct Parameters<R (C::*)(P...) const noexcept> : ParameterList<P...> {};

template <class K> struct CallOperator {
    using Type = Parameters<void>;
};
template <class K>
    requires requires { &K::operator(); }
struct CallOperator<K> {
    using Type = Parameters<decltype(&K::operator())>;
};

/// The arrays and views among arguments of these types, and inside them.
template <class... Types> struct MemoryArguments {
    static constexpr std::size_t most = (std::size_t{1} + ... + most_views<Types>());
    MemoryArgumentRoom<most> memory;
    MemoryArgument* end = memory.all;

    std::span<const MemoryArgument> all() const noexcept { return {memory.all, end}; }

    /// Adds the argument `index` if it is an array or a view, or holds views. `kept` is the
    /// launch's own copy; its type differs if the argument is converted.
    template <class A, class P>
    void add([[maybe_unused]] A& a, [[maybe_unused]] P& kept, [[maybe_unused]] std::size_t index,
             [[maybe_unused]] bool writes) noexcept {
        [[maybe_unused]] const std::int8_t argument = argument_index(index);
        if constexpr (StandIn<A>) add_view(Access::memory(a), argument, writes);
        else if constexpr (KnownByAddress<A>) add_span(a, argument, writes);
        else if constexpr (ViewTraits<KernelArg<A>>::is_view)
            add_view(kernel_argument(a), argument, writes, is_array<std::remove_const_t<A>>,
                     declared_use(a));
        else if constexpr (HoldsViews<KernelArg<A>>)
            add_members(kernel_argument(a), argument, writes);
        else add_members(kept, argument, writes);
    }
    /// Adds the views inside a kernel (argument -1) or an argument. If its bytes are searched,
    /// zeroes the padding between its members first.
    template <class T>
    void add_members([[maybe_unused]] T& value, [[maybe_unused]] std::int8_t argument,
                     [[maybe_unused]] bool writes) noexcept {
        using Value = std::remove_const_t<T>;
        if constexpr (HoldsViews<Value>) {
            detail::with_elements(value.views(), [&](const auto&... view) {
                (add_view(view, argument, writes), ...);
            });
        } else if constexpr (is_rectangle<Value>) {
            add_rectangle(value, argument, writes);
        } else if constexpr (may_hold_views<Value>()) {
            detail::clear_padding(value);
            end = find_views(&value, sizeof value, argument, end);
        }
    }

private:
    template <class S> void add_span(const S& span, std::int8_t argument, bool writes) noexcept {
        using T = typename S::element_type;
        *end = {memory_of(span), nullptr, sizeof(T), argument, writes && !std::is_const_v<T>};
        (end++)->is_by_address = true;
    }
    template <class T>
    void add_view(View<T> view, std::int8_t argument, bool writes, bool is_array = false,
                  const DeclaredUse* use = nullptr) noexcept {
        *end++ = {{view.data(), view.size_bytes()},
                  Access::block(view),
                  sizeof(T),
                  argument,
                  writes && !std::is_const_v<T>,
                  is_array,
                  false,
                  use};
    }
    template <class T>
    void add_rectangle(const View2D<T>& view, std::int8_t argument, bool writes) noexcept {
        const View<T> whole = view.memory();
        const std::size_t bytes = view.rows() == 0 ? 0 : view.columns() * sizeof(T);
        *end++ = {{whole.data(), bytes, view.rows(), view.pitch() * sizeof(T)},
                  Access::block(whole),
                  sizeof(T),
                  argument,
                  writes && !std::is_const_v<T>};
    }
};

template <std::size_t> struct IndexType {
    using type = std::size_t;
};
template <class K, class Indices, class Types> struct TakesArguments;
template <class K, std::size_t... I, class... P>
struct TakesArguments<K, std::index_sequence<I...>, std::tuple<P...>> {
    static constexpr bool value = std::is_invocable_v<K, typename IndexType<I>::type..., P...>;
};
/// The types in which a kernel receives arguments of these types, as a tuple.
template <class K, int N, class... A>
using PassedTo = typename PassedTypes<typename CallOperator<K>::Type, N, KernelArg<A>...>::type;
/// A kernel that can be called with N indices, followed by these arguments.
template <class K, int N, class... A>
concept KernelFor =
    TakesArguments<const K&, std::make_index_sequence<N>, PassedTo<K, N, A...>>::value;

/// Returns whether a kernel would convert a floating-point argument to an integer.
template <class K, class... A> constexpr bool cuts_fractions(std::size_t indices) {
    if constexpr ((std::is_floating_point_v<A> || ...)) {
        std::size_t i = indices;
        return ((CallOperator<K>::Type::is_whole(i++) && std::is_floating_point_v<A>) || ...);
    } else {
        return false;
    }
}

inline namespace HEDDLE_COMPILED_BY {

/// A kernel object that is copied to the device as bytes.
template <class K>
concept PortableKernel = KernelObject<K> && is_copied_as_bytes<K>;

/// Whether a kernel can be launched with N indices and these arguments. If not, why_not_launched()
/// (heddle/launch/detail/kernel_mistakes.hpp) names the reason.
template <class K, int N, class... A>
inline constexpr bool can_launch = PortableKernel<K> && (KernelArgument<A> && ...) &&
                                   KernelFor<K, N, A...> && !cuts_fractions<K, KernelArg<A>...>(N);

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle::detail
