// Histograms on CUDA devices, by CUB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cub/device/device_histogram.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <heddle/algorithms/detail/bins.hpp>
#include <heddle/algorithms/detail/cub_call.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Returns the bin of a sample, which CUB then counts. So all devices compute bins alike.
template <class T> struct CubBin {
    Bins<T> bins;
    HEDDLE_FN int operator()(const T& sample) const { return static_cast<int>(bins(sample)); }
};

template <class Call, class T, class Count>
void histogram_on_gpu(const Call& call, View<const T> in, View<Count> out, const Bins<T>& bins) {
    CubMemoryUse<> use;
    use.add(in, 0).add(out, 1);
    using Counter = std::conditional_t<sizeof(Count) == 4, unsigned, unsigned long long>;
    auto* const counts = reinterpret_cast<Counter*>(out.data());
    const auto samples = thrust::make_transform_iterator(in.data(), CubBin<T>{bins});
    const auto levels = static_cast<int>(out.size());
    detail::call_cub(call, use, in.size(), out.size(),
                     [&](void* memory, std::size_t& bytes, cudaStream_t native) {
                         if (in.size() == 0 && memory != nullptr)
                             return cudaMemsetAsync(counts, 0, out.size_bytes(), native);
                         return cub::DeviceHistogram::HistogramEven(
                             memory, bytes, samples, counts, levels + 1, 0, levels,
                             static_cast<std::int64_t>(in.size()), native);
                     });
}

}  // namespace detail
}  // namespace heddle
