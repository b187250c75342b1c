// A stable radix sort on CPU devices, for numbers in their usual order. Each pass distributes all
// records by eight bits of their keys, the lowest bits first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <heddle/algorithms/detail/radix_few.hpp>
#include <heddle/algorithms/detail/records.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The division of a radix sort's records into chunks. Each pass reads the counts of all chunks for
/// each chunk, so many chunks are worthwhile for many records only.
inline Chunks radix_chunks(std::size_t size) noexcept {
    const auto at_most = [size](std::size_t each, std::size_t most) {
        return std::min(size / each, most);
    };
    const std::size_t count = std::max(
        {std::size_t{1}, at_most(4096, 16), at_most(16384, 64), at_most(65536, 128), size >> 31});
    return {size, size / count + (size % count != 0 ? 1 : 0)};
}

/// The counts of each chunk, and the bits in which its keys differ from the first key.
template <class Bits> struct RadixState {
    View<std::uint32_t> counts;
    View<Bits> differ;

    Bits all_differ() const noexcept {
        const Bits* const data = differ.data();
        Bits all = 0;
        for (std::size_t i = 0; i < differ.size(); ++i) all = static_cast<Bits>(all | data[i]);
        return all;
    }
    /// Sets next[digit] to the position of the first record of `chunk` with this digit.
    void find_places(std::size_t chunk, std::size_t* next) const noexcept {
        std::size_t total[radix_digits] = {}, before[radix_digits];
        for (std::size_t i = 0; i < differ.size(); ++i) {
            if (i == chunk) std::copy(total, total + radix_digits, before);
            const std::uint32_t* const count = counts.data() + i * radix_digits;
            for (std::size_t digit = 0; digit < radix_digits; ++digit) total[digit] += count[digit];
        }
        std::size_t position = 0;
        for (std::size_t digit = 0; digit < radix_digits; ++digit) {
            next[digit] = position + before[digit];
            position += total[digit];
        }
    }
};

/// Returns whether a pass moves records. It does not if all its digits are equal. `differ` has the
/// bits that differ between keys.
template <class Bits> constexpr bool is_pass_needed(Bits differ, unsigned pass) noexcept {
    return digit_of(differ, pass) != 0;
}
/// Returns whether the records are in the temporary memory before a pass.
template <class Bits> constexpr bool is_moved_before(Bits differ, unsigned pass) noexcept {
    bool is_temporary = false;
    for (unsigned i = 0; i < pass; ++i)
        if (is_pass_needed(differ, i)) is_temporary = !is_temporary;
    return is_temporary;
}

/// Counts the digits of each chunk.
template <class Radix> struct CountDigits : KernelOf<> {
    using Bits = typename Radix::Bits;
    unsigned pass;
    template <class K, class V>
    void operator()(std::size_t chunk, View<K> keys, View<K> temporary_keys, View<V> values,
                    View<V> temporary_values, View<std::uint32_t> counts, View<Bits> differ) const {
        const SortMemory<K, V> memory{keys, temporary_keys, values, temporary_values};
        const RadixState<Bits> state{counts, differ};
        const Bits all = pass == 0 ? Bits{0} : state.all_differ();
        if (pass != 0 && !is_pass_needed(all, pass)) return;
        const Chunk part = radix_chunks(memory.size())[chunk];
        const K* const from = memory.get(is_moved_before(all, pass)).keys;
        std::uint32_t count[radix_digits] = {};
        if (pass == 0) {
            const Bits first = Radix()(from[0]);
            Bits different = 0;
            for (std::size_t i = part.begin; i < part.end; ++i) {
                const Bits bits = Radix()(from[i]);
                different = static_cast<Bits>(different | (bits ^ first));
                ++count[digit_of(bits, 0)];
            }
            differ.data()[chunk] = different;
        } else {
            for (std::size_t i = part.begin; i < part.end; ++i)
                ++count[digit_of(Radix()(from[i]), pass)];
        }
        std::copy(count, count + radix_digits, counts.data() + chunk * radix_digits);
    }
};

/// Moves the records of each chunk to their positions after a pass.
template <class Radix> struct MoveByDigit : KernelOf<> {
    using Bits = typename Radix::Bits;
    unsigned pass;
    template <class K, class V>
    void operator()(std::size_t chunk, View<K> keys, View<K> temporary_keys, View<V> values,
                    View<V> temporary_values, View<std::uint32_t> counts, View<Bits> differ) const {
        const SortMemory<K, V> memory{keys, temporary_keys, values, temporary_values};
        const RadixState<Bits> state{counts, differ};
        const Bits all = state.all_differ();
        if (!is_pass_needed(all, pass)) return;
        const bool is_temporary = is_moved_before(all, pass);
        const Records<K, V> from = memory.get(is_temporary), to = memory.get(!is_temporary);
        const Chunk part = radix_chunks(memory.size())[chunk];
        std::size_t next[radix_digits];
        state.find_places(chunk, next);
        for (std::size_t i = part.begin; i < part.end; ++i)
            to.set_within(memory.size(), next[digit_of(Radix()(from.keys[i]), pass)]++, from, i);
    }
};

/// Moves the records of each chunk back, if the last pass has left them in the temporary memory.
template <class Radix> struct MoveBack : KernelOf<> {
    using Bits = typename Radix::Bits;
    template <class K, class V>
    void operator()(std::size_t chunk, View<K> keys, View<K> temporary_keys, View<V> values,
                    View<V> temporary_values, View<Bits> differ) const {
        const SortMemory<K, V> memory{keys, temporary_keys, values, temporary_values};
        const RadixState<Bits> state{{}, differ};
        if (!is_moved_before(state.all_differ(), sizeof(K))) return;
        const Chunk part = radix_chunks(memory.size())[chunk];
        memory.records().copy(part.begin, memory.temporary(), part);
    }
};

template <class Radix, class Call, class K, class V>
void radix_sort(const Call& call, const SortMemory<K, V>& memory) {
    using Bits = typename Radix::Bits;
    const std::size_t size = memory.size();
    if (size <= SortFew<Radix>::most) return detail::launch_sort(call, 1, SortFew<Radix>(), memory);
    const std::size_t chunks = radix_chunks(size).count();
    Array<std::uint32_t> counts = call.template temporary<std::uint32_t>(chunks * radix_digits);
    Array<Bits> differ = call.template temporary<Bits>(chunks);
    for (unsigned pass = 0; pass < sizeof(K); ++pass) {
        detail::launch_sort<4, 5>(call, chunks, CountDigits<Radix>{{}, pass}, memory, counts.view(),
                                  differ.view());
        detail::launch_sort<4, 5>(call, chunks, MoveByDigit<Radix>{{}, pass}, memory, counts.view(),
                                  differ.view());
    }
    detail::launch_sort<5>(call, chunks, MoveBack<Radix>(), memory, differ.view());
}

}  // namespace detail
}  // namespace heddle
