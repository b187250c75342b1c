// A stable merge sort on CPU devices: sorts chunks, then merges pairs of sorted runs. All workers
// take part in each merge.
#pragma once

#include <algorithm>
#include <cstddef>

#include <heddle/algorithms/detail/records.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Returns how many of the first `count` merged records are in `a`.
template <class K, class Less>
std::size_t merged_from_first(const K* keys, Chunk a, Chunk b, std::size_t count,
                              const Less& less) {
    std::size_t low = count > b.size() ? count - b.size() : 0;
    std::size_t high = std::min(count, a.size());
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (less(keys[b.begin + (count - 1 - middle)], keys[a.begin + middle])) high = middle;
        else low = middle + 1;
    }
    return low;
}

/// A merge of the sorted runs `a` and `b`, whose result has the positions [at, end). Equal keys of
/// `a` precede those of `b`.
template <class K, class V, class Less> struct Merge {
    const Records<K, V>& from;
    const Records<K, V>& to;
    const Less& less;
    Chunk a, b;
    std::size_t at, end;

    bool has_both() const noexcept { return at < end && a.begin < a.end && b.begin < b.end; }
    void step() {
        // Arithmetic, because a branch would often be predicted wrongly.
        const std::size_t takes_b = less(from.keys[b.begin], from.keys[a.begin]) ? 1 : 0;
        to.set(at++, from, a.begin + takes_b * (b.begin - a.begin));
        a.begin += 1 - takes_b;
        b.begin += takes_b;
    }
    void finish() {
        while (has_both()) step();
        const std::size_t rest = std::min(end - at, a.size());
        to.copy(at, from, {a.begin, a.begin + rest});
        to.copy(at + rest, from, {b.begin, b.begin + (end - at - rest)});
    }
    /// Keeps the first `count` records of the result, and returns a merge for the others.
    Merge split(std::size_t count) {
        const std::size_t from_a = detail::merged_from_first(from.keys, a, b, count, less);
        Merge others = *this;
        others.a.begin += from_a;
        others.b.begin += count - from_a;
        others.at += count;
        end = at + count;
        return others;
    }
};

/// Merges the sorted runs `a` and `b` of `from`, and writes the first `count` records to `to`, from
/// `at` on.
template <class K, class V, class Less>
void merge(const Records<K, V>& from, Chunk a, Chunk b, const Records<K, V>& to, std::size_t at,
           std::size_t count, const Less& less) {
    Merge<K, V, Less> first{from, to, less, a, b, at, at + count};
    if (count >= 128) {  // two merges at the same time, because each step waits for the previous
        Merge<K, V, Less> second = first.split(count / 2);
        while (first.has_both() && second.has_both()) {
            first.step();
            second.step();
        }
        second.finish();
    }
    first.finish();
}

/// Sorts a short run by insertion.
template <class K, class V, class Less>
void insertion_sort(const Records<K, V>& records, Chunk part, const Less& less) {
    for (std::size_t i = part.begin + 1; i < part.end; ++i) {
        const K key = records.keys[i];
        if (!less(key, records.keys[i - 1])) continue;
        const V value = [&] {
            if constexpr (std::is_same_v<V, NoValue>) return NoValue();
            else return records.values[i];
        }();
        std::size_t to = i;
        for (; to > part.begin && less(key, records.keys[to - 1]); --to)
            records.set(to, records, to - 1);
        records.keys[to] = key;
        if constexpr (!std::is_same_v<V, NoValue>) records.values[to] = value;
    }
}

/// Sorts the records of `part`. The result is in `temporary` if `into_temporary`, else in
/// `records`.
template <class K, class V, class Less>
void sort_chunk(const Records<K, V>& records, const Records<K, V>& temporary, Chunk part,
                bool into_temporary, const Less& less) {
    constexpr std::size_t run = 16;
    const auto until = [&](std::size_t i) { return std::min(i, part.end); };
    for (std::size_t i = part.begin; i < part.end; i += run)
        detail::insertion_sort(records, {i, until(i + run)}, less);
    bool is_temporary = false;
    for (std::size_t width = run; width < part.size(); width *= 2, is_temporary = !is_temporary) {
        const Records<K, V>& from = is_temporary ? temporary : records;
        const Records<K, V>& to = is_temporary ? records : temporary;
        for (std::size_t i = part.begin; i < part.end; i += 2 * width) {
            const Chunk a{i, until(i + width)}, b{until(i + width), until(i + 2 * width)};
            if (b.size() == 0 || !less(from.keys[b.begin], from.keys[a.end - 1]))
                to.copy(i, from, {a.begin, b.end});  // in order already
            else detail::merge(from, a, b, to, i, b.end - i, less);
        }
    }
    if (is_temporary == into_temporary) return;
    const Records<K, V>& from = is_temporary ? temporary : records;
    (is_temporary ? records : temporary).copy(part.begin, from, part);
}

/// Sorts each chunk.
template <class Less> struct SortChunks : KernelOf<Less> {
    Less less;
    bool into_temporary;
    template <class K, class V>
    void operator()(std::size_t chunk, View<K> keys, View<K> temporary_keys, View<V> values,
                    View<V> temporary_values) const {
        const SortMemory<K, V> memory{keys, temporary_keys, values, temporary_values};
        detail::sort_chunk(memory.records(), memory.temporary(), Chunks{memory.size()}[chunk],
                           into_temporary, less);
    }
};

/// Merges each pair of runs of `width` records, from the temporary records or to them. Computes one
/// chunk of the result.
template <class Less> struct MergeRuns : KernelOf<Less> {
    Less less;
    std::size_t width;
    bool from_temporary;
    template <class K, class V>
    void operator()(std::size_t chunk, View<K> keys, View<K> temporary_keys, View<V> values,
                    View<V> temporary_values) const {
        const SortMemory<K, V> memory{keys, temporary_keys, values, temporary_values};
        const Records<K, V> from = memory.get(from_temporary);
        const auto until = [&](std::size_t i) { return std::min(i, memory.size()); };
        const Chunk part = Chunks{memory.size()}[chunk];
        const std::size_t first = part.begin / (2 * width) * (2 * width);
        Chunk a{first, until(first + width)}, b{until(first + width), until(first + 2 * width)};
        const std::size_t before = part.begin - first;
        const std::size_t from_a = detail::merged_from_first(from.keys, a, b, before, less);
        a.begin += from_a;
        b.begin += before - from_a;
        detail::merge(from, a, b, memory.get(!from_temporary), part.begin, part.size(), less);
    }
};

template <class Call, class K, class V, class Less>
void merge_sort(const Call& call, const SortMemory<K, V>& memory, const Less& less) {
    const std::size_t size = memory.size(), chunks = Chunks{size}.count();
    std::size_t merges = 0;
    for (std::size_t width = Chunks::usual; width < size; width *= 2) ++merges;
    bool is_temporary = merges % 2 != 0;
    detail::launch_sort(call, chunks, SortChunks<Less>{{}, less, is_temporary}, memory);
    std::size_t width = Chunks::usual;
    for (; merges > 0; --merges, width *= 2, is_temporary = !is_temporary)
        detail::launch_sort(call, chunks, MergeRuns<Less>{{}, less, width, is_temporary}, memory);
}

}  // namespace detail
}  // namespace heddle
