// Arguments of kernels: which types are allowed, their conversion, and checks.
#pragma once

#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/memory/array.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle::detail {

template <class T> View<T> kernel_argument(Array<T>& a) noexcept { return a.view(); }
template <class T> View<const T> kernel_argument(const Array<T>& a) noexcept { return a.view(); }
template <class T> const T& kernel_argument(const T& value) noexcept { return value; }

template <class A>
using KernelArg =
    std::remove_cvref_t<decltype(kernel_argument(std::declval<std::remove_reference_t<A>&>()))>;

template <class K>
concept KernelObject = std::is_class_v<K>;

/// An array, a view, or a value that is copied to the device as bytes.
template <class A>
concept KernelArgument = std::is_trivially_copyable_v<KernelArg<A>>;

/// The maximum number of indices. A negative number converted to std::size_t exceeds it.
inline constexpr auto max_indices =
    static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

[[noreturn]] void throw_negative_extent(std::size_t extent, const SourceLocation& where);

constexpr void check_extent(std::size_t extent, const SourceLocation& where) {
    if (extent > max_indices) [[unlikely]]
        throw_negative_extent(extent, where);
}

/// Returns the number of indices of a launch. Throws UsageError if it exceeds max_indices.
inline std::size_t count_of(const std::size_t* extent, int dimensions,
                            const SourceLocation& where) {
    std::size_t count = 1;
    bool overflow = false, none = false;
    for (int i = 0; i < dimensions; ++i) {
        none |= extent[i] == 0;
        overflow |= __builtin_mul_overflow(count, extent[i], &count);
    }
    if (none) return 0;
    if (overflow || count > max_indices) [[unlikely]]
        throw_too_many_indices(where);
    return count;
}

template <class T> struct ViewTraits {
    static constexpr bool is_view = false;
};
template <class T> struct ViewTraits<View<T>> {
    static constexpr bool is_view = true;
    static constexpr bool writes = !std::is_const_v<T>;
};

template <class A> inline constexpr bool is_array = false;
template <class T> inline constexpr bool is_array<Array<T>> = true;

template <class A>
void check_argument(A& a, const StreamState& stream, const SourceLocation& where) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view)
        check_reach(Access::block(kernel_argument(a)), stream, where);
}
/// Throws UsageError for an Array that holds nothing; for launches that enqueue something.
template <class A> void check_not_empty(A& a, const SourceLocation& where) {
    if constexpr (is_array<std::remove_const_t<A>>) check_held(a, where);
}
template <class A> void note_argument(A& a, StreamState& stream) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view)
        note_use(Access::block(kernel_argument(a)), stream);
}
/// Whether a kernel can write through a parameter of type P.
template <class P> inline constexpr bool is_written = true;
template <class T> inline constexpr bool is_written<View<const T>> = false;
template <class T> inline constexpr bool is_written<const T*> = false;

/// Which parameters of a call operator can be written through. This one is for kernels with several
/// or templated call operators, where the types of the arguments decide.
template <class F> struct Parameters {
    template <std::size_t I, class A> static constexpr bool writes = is_written<A>;
};
template <class... P> struct ParameterList {
    template <std::size_t I, class A>
    static constexpr bool writes =
        is_written<std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P..., A>>>>;
};
template <class C, class... P> struct Parameters<void (C::*)(P...)> : ParameterList<P...> {};
template <class C, class... P> struct Parameters<void (C::*)(P...) const> : ParameterList<P...> {};
template <class C, class... P>
struct Parameters<void (C::*)(P...) noexcept> : ParameterList<P...> {};
template <class C, class... P>
struct Parameters<void (C::*)(P...) const noexcept> : ParameterList<P...> {};

template <class K> struct CallOperator {
    using Type = Parameters<void>;
};
template <class K>
    requires requires { &K::operator(); }
struct CallOperator<K> {
    using Type = Parameters<decltype(&K::operator())>;
};

template <class A> OpAccess access_of(std::remove_reference_t<A>& a, bool writes) noexcept {
    if constexpr (ViewTraits<KernelArg<A>>::is_view) {
        const auto view = kernel_argument(a);
        return {view.data(), view.size_bytes(), writes && ViewTraits<KernelArg<A>>::writes};
    } else return {nullptr, 0, false};
}

/// Notifies observers of a launch. `first` is the number of parameters before the arguments.
template <class Params, std::size_t first, class... A, std::size_t... I>
void notify_launch(const char* name, StreamState& stream, const SourceLocation& where,
                   std::index_sequence<I...>, std::remove_reference_t<A>&... args) {
    [[maybe_unused]] const OpAccess all[sizeof...(A) + 1] = {
        access_of<A>(args, Params::template writes<first + I, KernelArg<A>>)...};
    OpAccess accesses[sizeof...(A) + 1];
    std::size_t count = 0;
    [[maybe_unused]] const auto add = [&](const OpAccess& access) {
        if (access.data != nullptr) accesses[count++] = access;
    };
    (add(all[I]), ...);
    notify_on(
        stream,
        {.kind = OpKind::launch, .name = name, .accesses = {accesses, count}, .where = where});
}

template <std::size_t> struct IndexType {
    using type = std::size_t;
};
template <class K, class Indices, class... P> struct TakesArguments;
template <class K, std::size_t... I, class... P>
struct TakesArguments<K, std::index_sequence<I...>, P...> {
    static constexpr bool value =
        std::is_invocable_v<const K&, typename IndexType<I>::type..., P...>;
};
/// A kernel that can be called with N indices, followed by these arguments.
template <class K, int N, class... A>
concept KernelFor = TakesArguments<K, std::make_index_sequence<N>, KernelArg<A>...>::value;

inline namespace HEDDLE_COMPILED_BY {

/// A kernel object that is copied to the device as bytes.
template <class K>
concept PortableKernel = KernelObject<K> && is_copied_as_bytes<K>;

/// Explains what is wrong with a kernel and its arguments. Returns whether all is well; a caller
/// that compiles no more if not leaves the explanation alone.
template <class K, int N, class... A> constexpr bool check_kernel() {
    static_assert(
        KernelObject<K>,
        "heddle: a portable kernel is an object: put the function into the operator() of a struct "
        "(a __global__ function is launched with grid(), of heddle/cuda.hpp)");
    static_assert(PortableKernel<K> || !KernelObject<K>,
                  "heddle: the kernel is copied to the device as bytes, so it (and what a lambda "
                  "captures) must be trivially copyable");
    static_assert((KernelArgument<A> && ...),
                  "heddle: a kernel's arguments are arrays, views and trivially copyable values; "
                  "wrap host memory in a View");
    constexpr bool can_be_called = KernelFor<K, N, A...>;
    static_assert(can_be_called || !PortableKernel<K> || !(KernelArgument<A> && ...),
                  "heddle: the kernel cannot be called with as many indices as dim() has, followed "
                  "by these arguments (is its operator() const? does it take a View<const T> where "
                  "the array is const?)");
    return PortableKernel<K> && (KernelArgument<A> && ...) && can_be_called;
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle::detail
