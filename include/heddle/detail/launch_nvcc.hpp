// Portable kernels on CUDA devices, in code that nvcc compiles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <heddle/detail/launch_nvcc_registry.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Whether the code being compiled runs on host threads.
#ifdef __CUDA_ARCH__
inline constexpr bool runs_on_host = false;
#else
inline constexpr bool runs_on_host = true;
#endif

struct BadIndex;

inline namespace HEDDLE_COMPILED_BY {

/// Never called without checks of indices, nor defined. clang looks up the name nevertheless.
#if !HEDDLE_BOUNDS
__device__ void report_bad_index(const BadIndex& bad) noexcept;
#endif

__host__ __device__ inline void wait_for_primary() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}
__host__ __device__ inline void trigger_dependents() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// nvcc wraps __host__ __device__ lambdas in a class that is passed to the device as bytes,
/// although it is not trivially copyable on the host. clang does not wrap them.
template <class K>
inline constexpr bool is_copied_as_bytes = std::is_trivially_copyable_v<K>
#ifdef __NVCC__
                                           || __nv_is_extended_host_device_lambda_closure_type(K)
#endif
    ;

/// Whether kernels on GPUs check the indices of views.
inline constexpr bool gpus_check_bounds = HEDDLE_BOUNDS != 0;

#if HEDDLE_BOUNDS
}  // namespace HEDDLE_COMPILED_BY
}  // namespace detail
}  // namespace heddle
#include <heddle/detail/launch_nvcc_checked.hpp>
namespace heddle HEDDLE_VISIBLE {
namespace detail {
inline namespace HEDDLE_COMPILED_BY {
#else
template <class K, class... P>
__global__ void __launch_bounds__(portable_block) portable_1d(K kernel, std::size_t nx, P... args) {
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (x < nx) kernel(x, args...);
}

// The second and third extent may exceed the limits of a grid, so the kernel strides over them.
template <class K, class... P>
__global__ void __launch_bounds__(portable_block)
    portable_2d(K kernel, std::size_t nx, std::size_t ny, P... args) {
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (x >= nx) return;
    for (std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y; y < ny;
         y += std::size_t{gridDim.y} * blockDim.y)
        kernel(x, y, args...);
}

template <class K, class... P>
__global__ void __launch_bounds__(portable_block)
    portable_3d(K kernel, std::size_t nx, std::size_t ny, std::size_t nz, P... args) {
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (x >= nx) return;
    for (std::size_t z = std::size_t{blockIdx.z} * blockDim.z + threadIdx.z; z < nz;
         z += std::size_t{gridDim.z} * blockDim.z)
        for (std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y; y < ny;
             y += std::size_t{gridDim.y} * blockDim.y)
            kernel(x, y, z, args...);
}
#endif

template <int N, class K, class... P> const void* portable_function() noexcept {
    if constexpr (N == 1) return reinterpret_cast<const void*>(&portable_1d<K, P...>);
    else if constexpr (N == 2) return reinterpret_cast<const void*>(&portable_2d<K, P...>);
    else return reinterpret_cast<const void*>(&portable_3d<K, P...>);
}

/// Registers a kernel at program start if the program contains a launch or a node of it.
template <int N, class K, class... P> struct KnownKernel {
    static inline std::atomic<std::uint64_t> loaded{0};
    static inline const bool registered =
        register_kernel(portable_function<N, K, P...>(), &preload_tag<K>, &loaded);

    static PortableCode code() noexcept {
        return {portable_function<N, K, P...>(), &loaded, registered};
    }
};

/// The code of a portable kernel, for its WorkType.
template <int N, class K, class... P>
inline constexpr PortableCode (*portable_code)() noexcept = &KnownKernel<N, K, P...>::code;

}  // namespace HEDDLE_COMPILED_BY
}  // namespace detail
}  // namespace heddle
