// Spans and mdspans as arguments and parameters of kernels (docs/adr/0076).
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/detail/spans.hpp>
#include <heddle/launch/detail/held_views.hpp>
#include <heddle/location.hpp>
#include <heddle/memory/detail/memory_argument.hpp>
#include <heddle/memory/view.hpp>

namespace heddle::detail {

/// A class of heddle that a launch replaces by its value() of type `stands_for`. Its memory is a
/// view: KernelMdspan.
template <class A>
concept StandIn = requires { typename A::stands_for; };

/// An argument whose memory is known by its address only, so that the launch finds its array.
template <class A>
concept KnownByAddress = AnySpan<std::remove_const_t<A>> && !StandIn<A>;

/// Sets the array of each memory argument that is known by its address, if it lies in an array.
/// Throws UsageError if it ends beyond that array. Locks the index of arrays.
void find_owners(MemoryArgument* first, const MemoryArgument* end, const SourceLocation& where);

/// Returns the memory of a span or mdspan.
template <AnySpan S> MemoryRange memory_of(const S& span) noexcept {
    return {detail::first_of(span), detail::span_bytes(span)};
}

/// A view or a span: a pointer to elements and their number.
template <class S>
concept ViewOrSpan = ViewTraits<S>::is_view || SpanLike<S>;

/// Converts an argument to the type in which the kernel receives it. Only views and spans change.
template <class To, class From>
[[gnu::always_inline]] constexpr decltype(auto) pass_as(const From& from) noexcept {
    if constexpr (ViewOrSpan<From> && ViewOrSpan<To> && !std::is_same_v<From, To> &&
                  !(ViewTraits<From>::is_view && ViewTraits<To>::is_view))
        return To(from.data(), from.size());
    else return (from);
}

/// The type in which a kernel receives an argument for a parameter of type P.
template <class Passed, class P> struct PassedAs {
    using type = Passed;
};
template <class T, SpanOf<T> P> struct PassedAs<View<T>, P> {
    using type = P;
};
template <SpanLike S, SpanOf<typename S::element_type> P> struct PassedAs<S, P> {
    using type = P;
};
template <SpanLike S, class T>
    requires ViewableAs<typename S::element_type, T>
struct PassedAs<S, View<T>> {
    using type = View<T>;
};
template <class Passed, class P>
using PassedFor = typename PassedAs<Passed, std::remove_cvref_t<P>>::type;

/// The types in which a kernel receives arguments after N indices, as a tuple.
template <class Parameters, int N, class... Passed> struct PassedTypes {
    using type = std::tuple<Passed...>;
};
template <class Indices, int N, class Parameters, class... Passed> struct PassedToEach;
template <std::size_t... I, int N, class Parameters, class... Passed>
struct PassedToEach<std::index_sequence<I...>, N, Parameters, Passed...> {
    using type = std::tuple<PassedFor<Passed, std::tuple_element_t<N + I, Parameters>>...>;
};
template <class Parameters, int N, class... Passed>
    requires((Parameters::has_spans || (Parameters::are_known && (SpanLike<Passed> || ...))) &&
             std::tuple_size_v<typename Parameters::Types> == N + sizeof...(Passed))
struct PassedTypes<Parameters, N, Passed...>
    : PassedToEach<std::index_sequence_for<Passed...>, N, typename Parameters::Types, Passed...> {};

}  // namespace heddle::detail
