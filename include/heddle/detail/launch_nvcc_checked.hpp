// Portable kernels that check indices: as in launch_nvcc.hpp, with a site.
#pragma once

#include <cstddef>

#include <heddle/detail/bounds_nvcc.hpp>
#include <heddle/detail/launch_nvcc_registry.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

inline namespace HEDDLE_COMPILED_BY {

template <class K, class... P>
__global__ void __launch_bounds__(portable_block)
    portable_1d(const BoundsSite* site, K kernel, std::size_t nx, P... args) {
    begin_checks(site);
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (x < nx) kernel(x, args...);
}

// The second and third extent may exceed the limits of a grid, so the kernel strides over them.
template <class K, class... P>
__global__ void __launch_bounds__(portable_block)
    portable_2d(const BoundsSite* site, K kernel, std::size_t nx, std::size_t ny, P... args) {
    begin_checks(site);
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (x >= nx) return;
    for (std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y; y < ny;
         y += std::size_t{gridDim.y} * blockDim.y)
        kernel(x, y, args...);
}

template <class K, class... P>
__global__ void __launch_bounds__(portable_block)
    portable_3d(const BoundsSite* site, K kernel, std::size_t nx, std::size_t ny, std::size_t nz,
                P... args) {
    begin_checks(site);
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (x >= nx) return;
    for (std::size_t z = std::size_t{blockIdx.z} * blockDim.z + threadIdx.z; z < nz;
         z += std::size_t{gridDim.z} * blockDim.z)
        for (std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y; y < ny;
             y += std::size_t{gridDim.y} * blockDim.y)
            kernel(x, y, z, args...);
}

}  // namespace HEDDLE_COMPILED_BY
}  // namespace detail
}  // namespace heddle
