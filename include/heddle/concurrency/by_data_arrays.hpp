// Making arrays through a DataOrder, and reading them on the host.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include <heddle/concurrency/by_data_calls.hpp>
#include <heddle/concurrency/data_order.hpp>
#include <heddle/memory/array.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Allocates an array for `order`. Errors name `call`, the public call.
template <class T>
Array<T> make_array(DataOrder& order, std::size_t size, const char* call, Where where) {
    return Access::array<T>(allocate_by_data(order, size, sizeof(T), call, where), size);
}
}  // namespace detail

/// Allocates `size` uninitialised elements on the device of `order`, for later operations of
/// `order`. Like all arrays, the result is freed after its last use, without blocking: a temporary
/// may be destroyed while operations on it are pending.
template <class T>
[[nodiscard]] Array<T> empty(DataOrder& order, std::size_t size, Where where = {}) {
    return detail::make_array<T>(order, size, "empty", where);
}
/// Allocates `size` elements as empty() does, and sets them to `value`.
template <class T, class V = T>
[[nodiscard]] Array<T> full(DataOrder& order, std::size_t size, const V& value, Where where = {}) {
    Array<T> array = detail::make_array<T>(order, size, "full", where);
    fill(order, array, value, where);
    return array;
}
/// Allocates `size` elements as empty() does, and sets their bytes to zero.
template <class T>
[[nodiscard]] Array<T> zeros(DataOrder& order, std::size_t size, Where where = {}) {
    Array<T> array = detail::make_array<T>(order, size, "zeros", where);
    fill_zero(order, array, where);
    return array;
}
/// Returns a new array with the elements of a host range or host array, copied as with copy().
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(DataOrder& order, const R& range, Where where = {}) {
    const View<const T> from(range);
    Array<T> array = detail::make_array<T>(order, from.size(), "from_host", where);
    copy(order, array, from, where);
    return array;
}
template <class T>
[[nodiscard]] Array<T> from_host(DataOrder& order, std::initializer_list<T> values,
                                 Where where = {}) {
    return from_host(order, std::span<const T>(values.begin(), values.size()), where);
}
/// Returns a new array on the device of `order` with the elements of an array or view.
template <detail::ArrayOrView A>
[[nodiscard]] auto clone(DataOrder& order, const A& array, Where where = {}) {
    const auto from = detail::as_source(array, "clone", where);
    using T = typename decltype(from)::value_type;
    auto to = detail::make_array<T>(order, from.size(), "clone", where);
    copy(order, to, from, where);
    return to;
}

/// Returns the elements as a std::vector. Blocks until the operations of `order` that wrote them
/// have completed. Also waits for earlier work on other streams that uses the array, but not for
/// other operations of `order`. Throws the failure if that work failed.
template <detail::Source A>
[[nodiscard]] auto to_host(DataOrder& order, const A& array, Where where = {}) {
    auto source = detail::as_source(array, "to_host", where);
    using T = typename decltype(source)::value_type;
    // std::vector<bool> stores bits, not bool objects, so the elements are copied to bytes first.
    using Host =
        std::conditional_t<std::is_same_v<T, bool>, std::vector<unsigned char>, std::vector<T>>;
    Host host(source.size());
    detail::read_by_data(order,
                         detail::region(View<T>(reinterpret_cast<T*>(host.data()), host.size())),
                         detail::region(source), where);
    if constexpr (std::is_same_v<T, bool>) return std::vector<T>(host.begin(), host.end());
    else return host;
}

}  // namespace heddle
