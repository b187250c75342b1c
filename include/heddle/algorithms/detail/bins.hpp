// The bins of histograms, and the counting on CPU devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/algorithms/detail/chunks.hpp>
#include <heddle/kernel.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Bins of equal width for samples in [lower, upper).
template <class T> struct Bins {
    T lower, upper;
    std::size_t count;

    /// Returns the bin of a sample, or -1 if it is in none. The same on all devices.
    HEDDLE_FN std::int64_t operator()(const T& sample) const {
        if (!(sample >= lower) || !(sample < upper)) return -1;
        std::size_t bin = 0;
        if constexpr (std::is_floating_point_v<T>) {
            bin = static_cast<std::size_t>((sample - lower) *
                                           (static_cast<T>(count) / (upper - lower)));
        } else {  // unsigned numbers, because the differences may exceed T
            const std::uint64_t from_lower =
                static_cast<std::uint64_t>(sample) - static_cast<std::uint64_t>(lower);
            bin = static_cast<std::size_t>(from_lower * count / width());
        }
        return static_cast<std::int64_t>(bin < count ? bin : count - 1);
    }
    /// Returns upper - lower, for integers.
    HEDDLE_FN std::uint64_t width() const {
        return static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower);
    }
};

/// Throws UsageError if there are no bins, or too many, or no samples between the bounds.
void check_bins(std::size_t count, bool is_in_order, std::uint64_t width,
                const SourceLocation& where);

/// Counts the samples of each group of elements, for all bins.
template <class T> struct CountSamples : KernelOf<> {
    Bins<T> bins;
    std::size_t groups;
    template <class Count>
    void operator()(std::size_t group, View<const T> in, View<Count> counts) const {
        Count* const count = counts.data() + group * bins.count;
        std::fill(count, count + bins.count, Count{});
        const Chunk part = Chunks{in.size(), in.size() / groups + 1}[group];
        const T* const data = in.data();
        for (std::size_t i = part.begin; i < part.end; ++i)
            if (const std::int64_t bin = bins(data[i]); bin >= 0) ++count[bin];
    }
};
/// Adds the counts of all groups, for each chunk of bins.
struct AddCounts : KernelOf<> {
    std::size_t groups;
    template <class Count>
    void operator()(std::size_t chunk, View<const Count> counts, View<Count> out) const {
        const Chunk part = Chunks{out.size()}[chunk];
        for (std::size_t i = part.begin; i < part.end; ++i) {
            Count sum{};
            for (std::size_t group = 0; group < groups; ++group)
                sum = static_cast<Count>(sum + counts.data()[group * out.size() + i]);
            out.data()[i] = sum;
        }
    }
};

template <class Call, class T, class Count>
void histogram_on_cpu(const Call& call, View<const T> in, View<Count> out, const Bins<T>& bins) {
    // The counts of all groups take at most as many elements as the input.
    const std::size_t groups = std::clamp<std::size_t>(
        in.size() / std::max(Chunks::usual, bins.count), std::size_t{1}, std::size_t{64});
    const CountSamples<T> count{{}, bins, groups};
    if (groups == 1) return detail::launch_chunks<0, 1>(call, 1, count, in, out);
    Array<Count> counts = call.template temporary<Count>(groups * bins.count);
    detail::launch_chunks<0, 2>(call, groups, count, in, counts.view());
    detail::launch_chunks<2, 1>(call, Chunks{bins.count}.count(), AddCounts{{}, groups},
                                View<const Count>(counts.view()), out);
}

}  // namespace detail
}  // namespace heddle
