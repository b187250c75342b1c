// Keys with or without values, as the sorting kernels of CPU devices move them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <heddle/algorithms/detail/chunks.hpp>
#include <heddle/algorithms/detail/radix_order.hpp>
#include <heddle/memory/view.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Keys, and the value of each key unless V is NoValue.
template <class K, class V> struct Records {
    K* keys;
    V* values;

    /// Sets the record i to the record `j` of `from`.
    void set(std::size_t i, const Records& from, std::size_t j) const {
        keys[i] = from.keys[j];
        if constexpr (!std::is_same_v<V, NoValue>) values[i] = from.values[j];
    }
    /// Sets the record i, if there is one. If other work changes the keys during a sort, which is a
    /// race, its counts of digits are wrong: then records are lost, but no other memory changes.
    void set_within(std::size_t size, std::size_t i, const Records& from, std::size_t j) const {
        if (i < size) [[likely]]
            set(i, from, j);
    }
    /// Sets the records from i on to those of `part` in `from`.
    void copy(std::size_t i, const Records& from, Chunk part) const {
        std::copy(from.keys + part.begin, from.keys + part.end, keys + i);
        if constexpr (!std::is_same_v<V, NoValue>)
            std::copy(from.values + part.begin, from.values + part.end, values + i);
    }
};

/// The records of a sort, and as many temporary ones. Each step of a sort moves all records from
/// one to the other.
template <class K, class V> struct SortMemory {
    View<K> keys, temporary_keys;
    View<V> values, temporary_values;

    std::size_t size() const noexcept { return keys.size(); }
    Records<K, V> records() const noexcept { return {keys.data(), values.data()}; }
    Records<K, V> temporary() const noexcept {
        return {temporary_keys.data(), temporary_values.data()};
    }
    Records<K, V> get(bool is_temporary) const noexcept {
        return is_temporary ? temporary() : records();
    }
};

inline namespace HEDDLE_COMPILED_BY {

/// Launches a kernel(chunk, memory...) of a sort, where the views of `memory` are four arguments.
template <int... numbers, class Call, class Kernel, class K, class V, class... P>
void launch_sort(const Call& call, std::size_t count, const Kernel& kernel,
                 const SortMemory<K, V>& memory, P... more) {
    detail::launch_chunks<0, 2, 1, 3, numbers...>(call, count, kernel, memory.keys,
                                                  memory.temporary_keys, memory.values,
                                                  memory.temporary_values, more...);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail
}  // namespace heddle
