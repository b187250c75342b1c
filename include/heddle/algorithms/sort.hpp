// sort() and sort_by_key().
#pragma once

#include <functional>

#include <heddle/algorithms/detail/functions.hpp>
#include <heddle/algorithms/detail/merge_sort.hpp>
#include <heddle/algorithms/detail/radix_sort.hpp>
#include <heddle/operation/host_access.hpp>
#ifdef __CUDACC__
#include <heddle/algorithms/detail/cub_sort.hpp>
#endif

namespace heddle HEDDLE_VISIBLE {

namespace detail {

template <class Call, class K, class V, class Less>
void sort_on_cpu(const Call& call, View<K> keys, View<V> values, const Less& less) {
    SortMemory<K, V> memory{keys, {}, values, {}};
    if (keys.size() <= 1)  // checks the arguments, and enqueues nothing
        return detail::launch_sort(call, 0, SortChunks<Less>{{}, less, false}, memory);
    Array<K> temporary_keys = call.template temporary<K>(keys.size());
    memory.temporary_keys = temporary_keys.view();
    Array<V> temporary_values;
    if constexpr (!std::is_same_v<V, NoValue>) {
        temporary_values = call.template temporary<V>(values.size());
        memory.temporary_values = temporary_values.view();
    }
    if constexpr (is_ascending<Less, K>) detail::radix_sort<RadixOf<K, false>>(call, memory);
    else if constexpr (is_descending<Less, K>) detail::radix_sort<RadixOf<K, true>>(call, memory);
    else detail::merge_sort(call, memory, less);
}

inline namespace HEDDLE_COMPILED_BY {

template <Algorithm algorithm, class On, class K, class V, class Less>
void sort(On& on, View<K> keys, View<V> values, const Less& less, const SourceLocation& where) {
    detail::check_functions<On, Less>();
    const auto call = detail::call_on<algorithm>(on, where);
    if (call.device().is_cpu()) return detail::sort_on_cpu(call, keys, values, less);
#ifdef __CUDACC__
    detail::sort_on_gpu(call, keys, values, less);
#else
    throw_algorithm_not_compiled(name_of(algorithm), call.device(), where);
#endif
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Sorts the elements of an array or view. Equal elements keep their order (a stable sort), so the
/// result is the same on all devices. Asynchronous, on `on`: a stream, or a DataOrder. Without
/// `on`, uses the current stream.
///
///     sort(s, keys);
///     sort(s, keys, std::greater<>());
///
/// less(a, b) returns whether `a` is ordered before `b`, and must be a strict weak order. Integers,
/// float and double are sorted fastest with std::less or std::greater. The order then also includes
/// NaN: a NaN with a sign is ordered before all numbers, another NaN after them. Both zeros are
/// equal.
///
/// Temporary memory for as many elements belongs to the stream. Everything else is as for reduce().
template <detail::StreamOrOrder On, detail::Writable Keys,
          detail::Orders<detail::ValueOf<Keys>> Less = std::less<>>
void sort(On&& on, Keys&& keys, Less less = {}, Where where = {}) {
    using detail::Algorithm;
    detail::sort<Algorithm::sort>(on, detail::as_destination(keys, "sort", where),
                                  View<detail::NoValue>(), less, where);
}
template <detail::Writable Keys, detail::Orders<detail::ValueOf<Keys>> Less = std::less<>>
void sort(Keys&& keys, Less less = {}, Where where = {}) {
    heddle::sort(current_stream(), keys, less, where);
}

/// Sorts `keys`, and moves values[i] along with keys[i]. Throws UsageError if the sizes differ, or
/// if the memory overlaps. Otherwise the same as sort().
template <detail::StreamOrOrder On, detail::Writable Keys, detail::Writable Values,
          detail::Orders<detail::ValueOf<Keys>> Less = std::less<>>
void sort_by_key(On&& on, Keys&& keys, Values&& values, Less less = {}, Where where = {}) {
    using detail::Algorithm;
    const auto k = detail::as_destination(keys, "sort_by_key", where);
    const auto v = detail::as_destination(values, "sort_by_key", where);
    if (k.size() != v.size()) [[unlikely]]
        detail::throw_unequal_sizes("sort_by_key", "keys", k.size(), "values", v.size(), where);
    if (detail::overlap(k, v)) [[unlikely]]
        detail::throw_overlap("sort_by_key", "keys", "values", where);
    detail::sort<Algorithm::sort_by_key>(on, k, v, less, where);
}
template <detail::Writable Keys, detail::Writable Values,
          detail::Orders<detail::ValueOf<Keys>> Less = std::less<>>
void sort_by_key(Keys&& keys, Values&& values, Less less = {}, Where where = {}) {
    heddle::sort_by_key(current_stream(), keys, values, less, where);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
