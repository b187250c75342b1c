// Launches, copies and fills that are ordered by data.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <heddle/concurrency/data_order.hpp>
#include <heddle/graph/prepared_launch.hpp>
#include <heddle/launch/launch.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/fill.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

// Excludes DataOrder from the general overloads of launch(): it has the overloads below.
template <> inline constexpr bool is_prepared<DataOrder> = true;

/// Whether a kernel or host function can hold addresses but no view, so that heddle cannot see its
/// memory.
template <class F>
inline constexpr bool hides_memory =
    std::is_class_v<F> && !std::is_empty_v<F> && !holds_no_pointer<F>() && !HoldsViews<F> &&
    own_bytes<F> == sizeof(F) && sizeof(F) < sizeof(View<char>);
/// Whether an argument is an address, which does not state how much memory is used.
template <class A>
inline constexpr bool is_address =
    std::is_pointer_v<KernelArg<A>> && !std::is_function_v<std::remove_pointer_t<KernelArg<A>>>;

template <class K, class... A> constexpr void check_nothing_hidden() {
    static_assert(!hides_memory<K>,
                  "heddle: launch(order, ...): this kernel contains references or addresses, which "
                  "cannot be ordered by data: capture Views, or pass arrays as arguments");
    static_assert(!(is_address<A> || ...), "heddle: launch(order, ...): an address does not state "
                                           "how much memory is used: pass the array, or a View");
}

struct SubmitByData {
    DataOrder& order;
    void operator()(const LaunchCall& call) const { launch_by_data(order, call); }
};

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Launches a kernel on a stream that `order` chooses, after all conflicting operations of `order`.
/// Operations conflict if they use the same memory and at least one writes it. Otherwise the same
/// as launch() with a stream: accepts portable kernels, `__global__` functions and kernels of
/// modules. Ignores touching() and concurrent(): the whole array counts as used. It counts as
/// written unless the kernel can only read it.
template <class K, class S, class... A>
void launch(DataOrder& order, const K& kernel, const S& shape, A&&... args) {
    using Kernel = std::decay_t<const K&>;  // a function becomes a pointer
    using Traits = detail::LaunchTraits<Kernel, S>;
    detail::check_nothing_hidden<Kernel, A...>();
    if constexpr (Traits::template can_launch<A...>)
        detail::describe_launch<Kernel>(kernel, shape, detail::SubmitByData{order}, args...);
    else (void)sizeof(*Traits::template why<A...>());  // does not compile: names the mistake
}
/// Rejects, at compile time, calls without a shape, and names the mistake.
template <detail::NotPrepared K> void launch(DataOrder&, const K&) {
    (void)sizeof(detail::ShapeIsMissing<K, void>);
}

/// Enqueues a prepared launch, ordered in the same way. Throws UsageError if it was prepared for
/// another device.
template <class K, int N, class... P>
void launch(DataOrder& order, PreparedLaunch<K, N, P...>& prepared, Where where = {}) {
    detail::check_nothing_hidden<K, P...>();
    using Prepared = PreparedLaunch<K, N, P...>;
    const detail::PreparedByData enqueue{
        [](void* self, StreamRef stream, const SourceLocation& at) {
            static_cast<Prepared*>(self)->launch(stream, at);
        },
        &prepared};
    detail::Access::describe(prepared, where, [&](const detail::LaunchCall& call) {
        detail::launch_by_data(order, call, enqueue);
    });
}

}  // namespace HEDDLE_COMPILED_BY

/// Calls function() once on a host thread, after all conflicting operations of `order`. The
/// function uses the memory declared by reads() and writes(), and the views that it captures.
/// Otherwise as launch_host() with a stream. Use DataOrder::task({}, ...) for a function that
/// holds references or addresses but uses no array.
///
///     launch_host(order, [&] { total = sum(x); }, reads(x));
template <detail::HostCallable F, std::derived_from<DeclaredAccess>... A>
void launch_host(DataOrder& order, F&& function, const DeclaredAccess& first, const A&... more) {
    detail::HostFunction<std::decay_t<F>> operation{std::forward<F>(function)};
    const detail::DeclaredMemory memory(first, more...);
    detail::launch_host_by_data(order, detail::host_work_type<std::decay_t<F>>, &operation, memory,
                                first.where());
}
/// Does the same for a function that captures all views that it uses.
template <detail::HostCallable F>
void launch_host(DataOrder& order, F&& function, Where where = {}) {
    static_assert(
        !detail::hides_memory<std::decay_t<F>>,
        "heddle: launch_host(order, ...): this function contains references or addresses, which "
        "cannot be ordered by data: declare the arrays with reads() and writes()");
    detail::HostFunction<std::decay_t<F>> operation{std::forward<F>(function)};
    detail::launch_host_by_data(order, detail::host_work_type<std::decay_t<F>>, &operation, {},
                                where);
}

/// Copies on a stream that `order` chooses, after all conflicting operations of `order`. Otherwise
/// the same as copy() with a stream. For pageable memory the host waits for conflicting operations,
/// and for no others.
template <detail::Destination To, detail::Source From>
void copy(DataOrder& order, To&& to, const From& from, Where where = {}) {
    auto destination = detail::as_destination(to, "copy", where);
    auto source = detail::as_source(from, "copy", where);
    static_assert(std::is_same_v<typename decltype(destination)::value_type,
                                 typename decltype(source)::value_type>,
                  "heddle::copy: the destination and the source must have the same element type");
    detail::copy_by_data(order, detail::region(destination), detail::region(source), where);
}
/// Copies a rectangle in the same way. Otherwise the same as copy_2d() with a stream.
template <class T, detail::SameElement<T> S>
void copy_2d(DataOrder& order, View2D<T> to, View2D<S> from, Where where = {}) {
    detail::copy_by_data(order, detail::region(to), detail::region(from), where);
}

/// Sets all elements on a stream that `order` chooses, after all conflicting operations of `order`.
/// Otherwise the same as fill() with a stream.
template <detail::Destination To, class V>
void fill(DataOrder& order, To&& to, const V& value, Where where = {}) {
    auto destination = detail::as_destination(to, "fill", where);
    using T = typename decltype(destination)::value_type;
    const T element = detail::element_of<T>(value);
    detail::fill_by_data(order, detail::region(destination), &element, sizeof element, where);
}
/// Sets only the elements of a rectangle.
template <class T, class V>
    requires(!std::is_const_v<T>)
void fill(DataOrder& order, const View2D<T>& to, const V& value, Where where = {}) {
    const T element = detail::element_of<T>(value);
    detail::fill_by_data(order, detail::region(to), &element, sizeof element, where);
}
/// Sets every byte to zero. Otherwise the same as fill().
template <detail::Destination To> void fill_zero(DataOrder& order, To&& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_by_data(order, detail::region(detail::as_destination(to, "fill_zero", where)),
                         &zero, 1, where);
}
/// Sets every byte of the elements of a rectangle to zero.
template <class T>
    requires(!std::is_const_v<T>)
void fill_zero(DataOrder& order, const View2D<T>& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_by_data(order, detail::region(to), &zero, 1, where);
}

/// Blocks until all operations of `order` that conflict with the host's use have completed, and
/// returns the view. Also waits for earlier work on other streams that uses the array, but not for
/// other operations of `order`. Without reads() or writes(), assumes that the host writes the
/// memory unless its elements are const. The host must finish using the memory before the next call
/// that uses it. Throws the failure if the awaited work failed.
///
///     for (float value : on_host(order, reads(result))) use(value);
template <class T> View<T> on_host(DataOrder& order, DeclaredView<T> use HEDDLE_LIFETIMEBOUND) {
    detail::wait_by_data(order, use.memory().front(), "on_host", use.where());
    return on_host(use);
}
template <class T> View<T> on_host(DataOrder& order, View<T> view, Where where = {}) {
    detail::wait_by_data(order, detail::host_memory(view, !std::is_const_v<T>), "on_host", where);
    return on_host(view, where);
}
template <class T>
View<T> on_host(DataOrder& order, Array<T>& array HEDDLE_LIFETIMEBOUND, Where where = {}) {
    return on_host(order, array.view(), where);
}
template <class T>
View<const T> on_host(DataOrder& order, const Array<T>& array HEDDLE_LIFETIMEBOUND,
                      Where where = {}) {
    return on_host(order, array.view(), where);
}

}  // namespace heddle
