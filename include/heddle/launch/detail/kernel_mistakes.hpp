// Explains why a launch does not compile. Nothing here is instantiated for a valid launch.
//
// Each explanation is a class whose use is a compile error: it is either an undefined class from
// heddle/detail/mistakes.hpp, or contains a static_assert.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/detail/mistakes.hpp>
#include <heddle/launch/detail/kernel_args.hpp>
#include <heddle/launch/detail/launch_mistakes.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Whether the argument is a view of const elements, and the parameter is the same view of elements
/// that are not const.
template <class Passed, class Parameter> inline constexpr bool is_read_only = false;
template <class T> inline constexpr bool is_read_only<View<const T>, View<T>> = true;
template <class T> inline constexpr bool is_read_only<View2D<const T>, View2D<T>> = true;
template <class T, SpanOf<T> P> inline constexpr bool is_read_only<View<const T>, P> = true;
template <SpanLike S, class T>
    requires std::is_same_v<typename S::element_type, const T>
inline constexpr bool is_read_only<S, View<T>> = true;
template <SpanLike S, SpanLike P>
inline constexpr bool is_read_only<S, P> =
    std::is_same_v<typename S::element_type, const typename P::element_type>;

// Strips the reference by partial specialisation. With an alias such as std::remove_reference_t<A>,
// nvcc's message would show the alias instead of the type.
template <int number, class A> struct ArgumentIs {
    using type = typename mistake::argument<number>::template is<A>;
};
template <int number, class A> struct ArgumentIs<number, A&> : ArgumentIs<number, A> {};

/// Explains why an argument cannot be passed for P, the kernel's parameter.
template <int number, class A, class P> constexpr auto why_argument() {
    using Passed = KernelArg<A>;
    using Value = std::remove_cvref_t<P>;
    using Is = typename ArgumentIs<number, A>::type;
    if constexpr (is_array<Value>)
        return is_a<
            typename mistake::parameter<number>::template must_be_a_View_and_not_an_Array<P>>();
    else if constexpr (std::is_convertible_v<Passed, P>)
        return is_a<typename Is::template truncated_to_an_integer_by_a_kernel_that_takes<P>>();
    else if constexpr (std::is_convertible_v<Passed, Value>)
        return is_a<typename Is::template passed_as_a_copy_but_the_kernel_takes_a_reference<P>>();
    else if constexpr (ViewTraits<Passed>::is_view && std::is_pointer_v<Value>)
        return is_a<typename Is::template passed_as_a_View_but_the_kernel_takes<P>>();
    else if constexpr (ViewTraits<Passed>::is_view && MdspanLike<Value>)
        return is_a<typename Is::template without_extents_so_pass_spanning<P>>();
    else if constexpr (is_read_only<Passed, Value>)
        return is_a<typename Is::template read_only_but_the_kernel_takes<P>>();
    else return is_a<typename Is::template but_the_kernel_takes<P>>();
}

/// Explains the first wrong argument. Takes<A, P>::value is whether A may be passed for P.
template <template <class, class> class Takes, int number, class Parameters, class... A>
struct FirstWrong {
    static constexpr std::nullptr_t why() noexcept { return nullptr; }
};
template <template <class, class> class Takes, int number, class P, class... Parameters, class A,
          class... More>
struct FirstWrong<Takes, number, std::tuple<P, Parameters...>, A, More...> {
    static constexpr auto why() {
        if constexpr (!Takes<A, P>::value) return why_argument<number, A, P>();
        else return FirstWrong<Takes, number + 1, std::tuple<Parameters...>, More...>::why();
    }
};

/// Explains why an argument of a prepared launch cannot be replaced. P is the type that the launch
/// was prepared with.
template <int number, class A, class P> constexpr auto why_not_set() {
    using Is = typename ArgumentIs<number, A>::type;
    if constexpr (std::is_convertible_v<KernelArg<A>, P>)
        return is_a<typename Is::template truncated_to_an_integer_as_it_was_prepared_with<P>>();
    else return is_a<typename Is::template but_it_was_prepared_with<P>>();
}

template <int number, class A> constexpr auto why_not_copied() {
    using Is = typename ArgumentIs<number, A>::type;
    using Value = std::remove_reference_t<A>;
    if constexpr (HostRange<Value>) return is_a<typename Is::host_memory_so_pass_a_View_of_it>();
    else return is_a<typename Is::not_trivially_copyable_as_an_argument_must_be>();
}
/// Explains the first argument that cannot be passed to any kernel.
template <int number, class A, class... More> constexpr auto why_not_passed() {
    if constexpr (!KernelArgument<A>) return why_not_copied<number, A>();
    else return why_not_passed<number + 1, More...>();
}

/// Whether a portable kernel accepts an argument for its parameter P.
template <class A, class P> struct IsTaken {
    static constexpr bool value =
        std::is_convertible_v<PassedFor<KernelArg<A>, P>, P> &&
        !(std::is_floating_point_v<KernelArg<A>> && std::is_integral_v<std::remove_cvref_t<P>>);
};
/// Removes the first N types.
template <int N, class Types> struct Without {
    using type = Types;
};
template <int N, class T, class... Types>
    requires(N > 0)
struct Without<N, std::tuple<T, Types...>> : Without<N - 1, std::tuple<Types...>> {};

/// Explains a wrong call of a kernel with one call operator. P are its parameters, the first N of
/// which are indices.
template <class K, int N, class... A> constexpr auto why_call(std::tuple<>*) {
    return is_a<
        typename mistake::the_kernel_takes<0>::template parameters_but_the_launch_has_indices<
            N>::template and_arguments<sizeof...(A)>>();
}
template <class K, int N, class... A, class First, class... P>
constexpr auto why_call(std::tuple<First, P...>*) {
    constexpr int parameters = 1 + sizeof...(P), arguments = sizeof...(A);
    if constexpr (!std::is_convertible_v<std::size_t, First>)
        return is_a<typename mistake::index<1>::template is<
            std::size_t>::template but_the_kernel_takes<First>>();
    else if constexpr (parameters != N + arguments)
        return is_a<typename mistake::the_kernel_takes<parameters>::
                        template parameters_but_the_launch_has_indices<N>::template and_arguments<
                            arguments>>();
    else
        return FirstWrong<IsTaken, 1, typename Without<N, std::tuple<First, P...>>::type,
                          A...>::why();
}
template <class K, class... A, std::size_t... I>
constexpr auto why_generic_call(std::index_sequence<I...>) {
    return is_a<typename mistake::kernel<K>::template has_no_public_const_operator_that_takes<
        typename IndexType<I>::type..., KernelArg<A>...>>();
}

inline namespace HEDDLE_COMPILED_BY {

/// Explains why `can_launch<K, N, A...>` is false.
template <class K, int N, class... A> constexpr auto why_not_launched() {
    if constexpr (!KernelObject<K>) return is_a<KernelIsNoObject<K>>();
    else if constexpr (!is_copied_as_bytes<K>) return is_a<KernelIsNotCopyable<K>>();
    else if constexpr ((IsStream<std::remove_reference_t<A>> || ...))
        return is_a<StreamIsNotFirst<K>>();
    else if constexpr (!(KernelArgument<A> && ...)) return why_not_passed<1, A...>();
    else if constexpr (!KernelFor<K, N, A...> &&
                       TakesArguments<K&, std::make_index_sequence<N>, PassedTo<K, N, A...>>::value)
        return is_a<KernelIsNotConst<K>>();
    else if constexpr (CallOperator<K>::Type::are_known)
        return why_call<K, N, A...>(static_cast<typename CallOperator<K>::Type::Types*>(nullptr));
    else return why_generic_call<K, A...>(std::make_index_sequence<N>());
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail
}  // namespace heddle
