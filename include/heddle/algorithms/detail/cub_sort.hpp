// Sorts on CUDA devices, by CUB.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/util_type.cuh>

#include <heddle/algorithms/detail/cub_call.hpp>
#include <heddle/algorithms/detail/radix_order.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The type as which CUB sorts keys: for integers, one of the standard types of their size.
template <class K>
using CubKey = std::conditional_t<
    std::is_floating_point_v<K>, K,
    typename std::conditional_t<std::is_signed_v<K>,
                                std::make_signed<typename UnsignedOf<sizeof(K)>::type>,
                                UnsignedOf<sizeof(K)>>::type>;

/// Sorts numbers. A last copy is needed only if CUB leaves the result in the temporary memory.
template <bool descending, class Key, class V>
cudaError_t radix_sort_by_cub(void* memory, std::size_t& bytes, Key* keys, V* values,
                              Key* temporary_keys, V* temporary_values, std::size_t size,
                              cudaStream_t native) {
    using Sort = cub::DeviceRadixSort;
    cub::DoubleBuffer<Key> k(keys, temporary_keys);
    cub::DoubleBuffer<V> v(values, temporary_values);
    cudaError_t code = cudaSuccess;
    if constexpr (std::same_as<V, NoValue>)
        code = descending
                   ? Sort::SortKeysDescending(memory, bytes, k, size, 0, 8 * sizeof(Key), native)
                   : Sort::SortKeys(memory, bytes, k, size, 0, 8 * sizeof(Key), native);
    else
        code = descending ? Sort::SortPairsDescending(memory, bytes, k, v, size, 0, 8 * sizeof(Key),
                                                      native)
                          : Sort::SortPairs(memory, bytes, k, v, size, 0, 8 * sizeof(Key), native);
    if (code != cudaSuccess || memory == nullptr || k.selector == 0) return code;
    code =
        cudaMemcpyAsync(keys, temporary_keys, size * sizeof(Key), cudaMemcpyDeviceToDevice, native);
    if constexpr (!std::same_as<V, NoValue>)
        if (code == cudaSuccess)
            code = cudaMemcpyAsync(values, temporary_values, size * sizeof(V),
                                   cudaMemcpyDeviceToDevice, native);
    return code;
}

template <class Call, class K, class V, class Less>
void sort_on_gpu(const Call& call, View<K> keys, View<V> values, const Less& less) {
    CubMemoryUse<Less> use(less);
    use.add(keys, 0).add(values, 1);
    const std::size_t size = keys.size();
    if constexpr (is_ascending<Less, K> || is_descending<Less, K>) {
        constexpr bool descending = is_descending<Less, K>;
        const auto sort = [&](StreamRef stream, cudaStream_t native) -> cudaError_t {
            if (size <= 1) return cudaSuccess;
            using Key = CubKey<K>;
            auto* const key = reinterpret_cast<Key*>(keys.data());
            const auto there = on_stream(call, stream);
            Array<Key> more_keys = there.template temporary<Key>(size);
            Array<V> more_values;
            if constexpr (!std::same_as<V, NoValue>)
                more_values = there.template temporary<V>(size);
            const auto run = [&](void* memory, std::size_t& bytes) {
                return radix_sort_by_cub<descending>(memory, bytes, key, values.data(),
                                                     more_keys.view().data(),
                                                     more_values.view().data(), size, native);
            };
            return detail::run_cub(there, size, 0, run);
        };
        detail::lend_stream(call, use, sort);
    } else {
        const auto count = static_cast<std::int64_t>(size);
        detail::call_cub(
            call, use, size, 0, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
                if constexpr (std::same_as<V, NoValue>)
                    return cub::DeviceMergeSort::StableSortKeys(memory, bytes, keys.data(), count,
                                                                less, native);
                else
                    return cub::DeviceMergeSort::StableSortPairs(
                        memory, bytes, keys.data(), values.data(), count, less, native);
            });
    }
}

}  // namespace detail
}  // namespace heddle
