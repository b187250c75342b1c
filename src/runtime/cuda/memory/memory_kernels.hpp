// The kernels of fill(), and of copies in bodies of conditional nodes. Declares everything that
// memory_kernels.cu exports to C++ files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include <heddle/memory/range.hpp>

namespace heddle::detail::cu {

/// The size of the largest pattern that is passed as a kernel argument, in bytes.
inline constexpr std::size_t max_pattern = 64;

/// Returns the size of the shortest word (1, 2 or 4 bytes) of which `value` is a repetition.
/// Returns 0 if there is no such word, or if the memory is not aligned to it. (fill.cpp)
std::size_t word_of(const MemoryRange& to, const void* value, std::size_t size) noexcept;

/// Repeats the pattern in every row of host memory. (fill.cpp)
void fill_on_host(const MemoryRange& to, const std::vector<std::byte>& pattern) noexcept;

/// Returns all kernels of memory_kernels.cu. Their code is loaded when a device is first used.
std::span<const void* const> memory_kernels() noexcept;

/// A fill kernel with its arguments, and with the pointers to these arguments. Cannot be moved.
struct FillKernel {
    const void* function = nullptr;
    dim3 grid, block;
    char* data = nullptr;
    std::size_t words = 0, rows = 0, pitch = 0;
    unsigned period = 0;
    alignas(16) unsigned char pattern[max_pattern] = {};
    void* arguments[6] = {&data, &words, &rows, &pitch, &period, &pattern};

    FillKernel() = default;
    FillKernel(const FillKernel&) = delete;
    FillKernel& operator=(const FillKernel&) = delete;
};

/// Prepares a fill of every row with `size` <= max_pattern bytes. `size` divides to.bytes.
void make_fill(FillKernel& fill, const MemoryRange& to, const void* pattern, std::size_t size,
               int processors) noexcept;

/// Like FillKernel, but takes the pattern from the beginning of the memory itself.
struct RepeatKernel {
    const void* function = nullptr;
    dim3 grid, block;
    char* data = nullptr;
    std::size_t words = 0, rows = 0, pitch = 0, period = 0;
    void* arguments[5] = {&data, &words, &rows, &pitch, &period};

    RepeatKernel() = default;
    RepeatKernel(const RepeatKernel&) = delete;
    RepeatKernel& operator=(const RepeatKernel&) = delete;
};

/// Like FillKernel, but copies one rectangle to another.
struct CopyKernel {
    const void* function = nullptr;
    dim3 grid, block;
    char* to = nullptr;
    const char* from = nullptr;
    std::size_t words = 0, rows = 0, to_pitch = 0, from_pitch = 0;
    void* arguments[6] = {&to, &from, &words, &rows, &to_pitch, &from_pitch};

    CopyKernel() = default;
    CopyKernel(const CopyKernel&) = delete;
    CopyKernel& operator=(const CopyKernel&) = delete;
};
void make_copy(CopyKernel& copy, const MemoryRange& to, const MemoryRange& from,
               int processors) noexcept;

/// Prepares a kernel that fills the rectangle with copies of its first `size` bytes. to.bytes must
/// be a multiple of `size`.
void make_repeat(RepeatKernel& repeat, const MemoryRange& to, std::size_t size,
                 int processors) noexcept;

/// Returns the parameters of a graph node for one of the kernels above. The parameters point into
/// `kernel`.
template <class Kernel> cudaKernelNodeParams node_parameters(Kernel& kernel) noexcept {
    cudaKernelNodeParams p{};
    p.func = const_cast<void*>(kernel.function);
    p.gridDim = kernel.grid;
    p.blockDim = kernel.block;
    p.kernelParams = kernel.arguments;
    return p;
}

}  // namespace heddle::detail::cu
