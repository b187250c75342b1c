// Reductions on CUDA devices, by CUB.
#pragma once

#include <concepts>
#include <cstddef>

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

#include <heddle/algorithms/detail/cub_call.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Calls CUB's TransformReduce, or its replacement for CUDA 12.4, whose CUB does not have it.
template <class In, class Out, class Op, class F, class T>
cudaError_t transform_reduce(void* memory, std::size_t& bytes, In in, Out out, std::size_t count,
                             const Op& op, const F& transform, const T& init, cudaStream_t native) {
#if CUB_VERSION >= 200400
    return cub::DeviceReduce::TransformReduce(memory, bytes, in, out, count, op, transform, init,
                                              native);
#else
    return cub::DeviceReduce::Reduce(memory, bytes, thrust::make_transform_iterator(in, transform),
                                     out, count, op, init, native);
#endif
}

template <class T, class Call, class In, class F, class Op>
void reduce_on_gpu(const Call& call, View<const In> in, View<T> out, const T& init,
                   const F& transform, const Op& op) {
    CubMemoryUse<Op, F> use(op, transform);
    use.add(in, 0).add(out, 1);
    const auto combine = detail::as_cub_op(op);
    detail::call_cub(
        call, use, in.size(), 0, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
            if constexpr (std::same_as<In, T> && std::same_as<F, Identity>)
                return cub::DeviceReduce::Reduce(memory, bytes, in.data(), out.data(), in.size(),
                                                 combine, init, native);
            else
                return detail::transform_reduce(memory, bytes, in.data(), out.data(), in.size(),
                                                combine, CubTransform<T, F>{transform}, init,
                                                native);
        });
}

/// Reads the elements i of two inputs.
template <class T, class A, class B, class F> struct CubPair {
    const A* a;
    const B* b;
    Transformed<T, F> get;
    HEDDLE_FN T operator()(std::size_t i) const { return get(i, a, b); }
};

template <class T, class Call, class A, class B, class F, class Op>
void reduce_on_gpu(const Call& call, View<const A> a, View<const B> b, View<T> out, const T& init,
                   const F& transform, const Op& op) {
    CubMemoryUse<Op, F> use(op, transform);
    use.add(a, 0).add(b, 1).add(out, 2);
    const auto combine = detail::as_cub_op(op);
    detail::call_cub(
        call, use, a.size(), 0, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
            return detail::transform_reduce(
                memory, bytes, thrust::counting_iterator<std::size_t>(0), out.data(), a.size(),
                combine, CubPair<T, A, B, F>{a.data(), b.data(), {transform}}, init, native);
        });
}

/// Reads the element i of an input together with its index.
template <class T> struct CubIndexed {
    const T* in;
    HEDDLE_FN Indexed<T> operator()(std::size_t i) const { return Indexed<T>::of(in[i], i); }
};

template <class Call, class T, class Before>
void first_on_gpu(const Call& call, View<const T> in, View<std::size_t> out,
                  const FirstOf<T, Before>& op) {
    CubMemoryUse<FirstOf<T, Before>> use(op);
    use.add(in, 0).add(out, 1);
    detail::call_cub(
        call, use, in.size(), 0, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
            return detail::transform_reduce(
                memory, bytes, thrust::counting_iterator<std::size_t>(0),
                thrust::make_transform_output_iterator(out.data(), IndexOf()), in.size(), op,
                CubIndexed<T>{in.data()}, Indexed<T>::nothing(), native);
        });
}

}  // namespace detail
}  // namespace heddle
