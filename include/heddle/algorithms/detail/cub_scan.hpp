// Scans on CUDA devices, by CUB.
#pragma once

#include <concepts>
#include <cstddef>

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <heddle/algorithms/detail/cub_call.hpp>
#include <heddle/algorithms/detail/scan_kind.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

template <ScanKind kind, class Call, class In, class T, class Op>
void scan_on_gpu(const Call& call, View<const In> in, View<T> out, const T& init, const Op& op) {
    CubMemoryUse<Op> use(op);
    use.add(in, 0).add(out, 1);
    const auto combine = detail::as_cub_op(op);
    const auto scan = [&](const auto from) {
        detail::call_cub(
            call, use, in.size(), 0, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
                if constexpr (kind == ScanKind::inclusive)
                    return cub::DeviceScan::InclusiveScan(memory, bytes, from, out.data(), combine,
                                                          in.size(), native);
                else
                    return cub::DeviceScan::ExclusiveScan(memory, bytes, from, out.data(), combine,
                                                          init, in.size(), native);
            });
    };
    if constexpr (std::same_as<In, T>) scan(in.data());
    else scan(thrust::make_transform_iterator(in.data(), CubTransform<T, Identity>{}));
}

}  // namespace detail
}  // namespace heddle
