// Portable kernels on CUDA devices, in code that nvcc compiles.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <heddle/detail/graph_work.hpp>
#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/detail/stream_state.hpp>

namespace heddle::detail {

/// Throws UsageError if no device can launch a portable kernel of `dimensions` dimensions with
/// these options.
void check_portable_options(const LaunchOptions& options, int dimensions,
                            const SourceLocation& where);
/// Checks the other options and launches.
cudaError_t launch_in_a_way(StreamState& stream, const void* function, dim3 grid, dim3 block,
                            void** arguments, std::size_t shared_bytes,
                            const LaunchOptions& options, const SourceLocation& where);

inline namespace compiled_by_nvcc {

inline constexpr bool has_cuda_code = true;

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

/// nvcc wraps __host__ __device__ lambdas in a class that is passed to the device as bytes, though
/// it is not trivially copyable on the host.
template <class K>
inline constexpr bool is_copied_as_bytes =
    std::is_trivially_copyable_v<K> || __nv_is_extended_host_device_lambda_closure_type(K);

inline constexpr unsigned portable_block = 256;

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

struct PortableGrid {
    dim3 grid, block;
};

template <int N>
PortableGrid portable_grid(const std::size_t* extent, unsigned processors,
                           const LaunchOptions& options, const SourceLocation& where) {
    constexpr std::size_t max_x = 0x7fffffff, max_y = 65535;
    const auto blocks = [](std::size_t n, std::size_t block) { return (n + block - 1) / block; };
    if ((options.block | options.cluster_x) != 0) [[unlikely]]
        check_portable_options(options, N, where);
    PortableGrid g;
    if constexpr (N == 1) {
        // A few indices are spread over all multiprocessors, in smaller blocks.
        const std::size_t share =
            options.block != 0 ? options.block : blocks(blocks(extent[0], processors), 32) * 32;
        g.block = dim3(static_cast<unsigned>(std::min<std::size_t>(portable_block, share)));
        g.grid = dim3(static_cast<unsigned>(blocks(extent[0], g.block.x)));
    } else if constexpr (N == 2) {
        g.block = dim3(32, options.block != 0 ? options.block / 32 : 8);
        g.grid = dim3(static_cast<unsigned>(blocks(extent[0], 32)),
                      static_cast<unsigned>(std::min(blocks(extent[1], g.block.y), max_y)));
    } else {
        g.block = options.block != 0 ? dim3(32, options.block / 32, 1) : dim3(32, 4, 2);
        g.grid = dim3(static_cast<unsigned>(blocks(extent[0], 32)),
                      static_cast<unsigned>(std::min(blocks(extent[1], g.block.y), max_y)),
                      static_cast<unsigned>(std::min(blocks(extent[2], g.block.z), max_y)));
    }
    if (options.cluster_x != 0) [[unlikely]] {  // blocks beyond the extents return
        const auto whole = [](unsigned n, unsigned c) { return (n + c - 1) / c * c; };
        g.grid = dim3(whole(g.grid.x, options.cluster_x), whole(g.grid.y, options.cluster_y),
                      whole(g.grid.z, options.cluster_z));
    }
    if (blocks(extent[0], g.block.x) > max_x) [[unlikely]]
        throw_too_many_indices(where);
    return g;
}

template <int N, class K, class... P> const void* portable_function() noexcept {
    if constexpr (N == 1) return reinterpret_cast<const void*>(&portable_1d<K, P...>);
    else if constexpr (N == 2) return reinterpret_cast<const void*>(&portable_2d<K, P...>);
    else return reinterpret_cast<const void*>(&portable_3d<K, P...>);
}

/// Registers a kernel at program start if the program launches it or makes a node of it.
template <int N, class K, class... P> struct KnownKernel {
    static inline std::atomic<std::uint64_t> loaded{0};  ///< one bit per device
    static inline const bool registered =
        register_kernel(portable_function<N, K, P...>(), &preload_tag<K>, &loaded);
};

template <int N, class K, class... P>
void launch_on_cuda(StreamState& stream, const char* pretty, const SourceLocation& where,
                    const K& kernel, const std::size_t* extent, const GivenOptions& how,
                    const P&... args) {
    using Known = KnownKernel<N, K, P...>;
    const std::uint64_t device = std::uint64_t{1} << (stream.device.index() & 63);
    if ((Known::loaded.load(std::memory_order_relaxed) & device) == 0) [[unlikely]] {
        if (Known::registered) note_first_launch(stream, pretty, where);
        Known::loaded.fetch_or(device, std::memory_order_relaxed);
    }
    const PortableGrid g = portable_grid<N>(extent, stream.processors, how.options, where);
    void* arguments[1 + N + sizeof...(P)];
    std::size_t used = 0;
    const auto push = [&](const void* p) { arguments[used++] = const_cast<void*>(p); };
    push(&kernel);
    for (int i = 0; i < N; ++i) push(&extent[i]);
    (push(&args), ...);
    const cudaError_t code =
        how.given ? launch_in_a_way(stream, portable_function<N, K, P...>(), g.grid, g.block,
                                    arguments, how.options.shared_bytes, how.options, where)
                  : cudaLaunchKernel(portable_function<N, K, P...>(), g.grid, g.block, arguments, 0,
                                     static_cast<cudaStream_t>(stream.native));
    if (code != cudaSuccess) [[unlikely]]
        throw_launch_failed(stream, pretty, code, where);
    count_submission(stream);
}

/// The same kernel for a node of a graph: a MakeForm.
template <class K, int N, class... P>
void portable_form(void* closure, unsigned processors, const LaunchOptions& options,
                   KernelForm& form, const SourceLocation& where) {
    auto& op = *static_cast<PortableOp<K, N, P...>*>(closure);
    const PortableGrid g = portable_grid<N>(op.extent, processors, options, where);
    form.shared_bytes = options.shared_bytes;
    if (KnownKernel<N, K, P...>::registered)  // making a node of it loads it
        KnownKernel<N, K, P...>::loaded.store(~std::uint64_t{0}, std::memory_order_relaxed);
    form.arguments.clear();
    form.function = portable_function<N, K, P...>();
    const unsigned grid[] = {g.grid.x, g.grid.y, g.grid.z},
                   block[] = {g.block.x, g.block.y, g.block.z};
    std::copy(grid, grid + 3, form.grid);
    std::copy(block, block + 3, form.block);
    form.arguments.push_back(&op.kernel);
    for (int i = 0; i < N; ++i) form.arguments.push_back(&op.extent[i]);
    std::apply([&](P&... p) { (form.arguments.push_back(&p), ...); }, op.args);
}

}  // namespace compiled_by_nvcc
}  // namespace heddle::detail
