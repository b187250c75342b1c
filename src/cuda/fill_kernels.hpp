// The kernels behind fill(), as plain functions: all that fill.cu shows to C++ files.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace heddle::detail::cu {

inline constexpr std::size_t max_pattern = 64;  ///< bytes of a pattern that travels with the launch

/// A rectangle of device memory: `rows` rows of `bytes`, `pitch` apart.
struct Rectangle {
    void* data;
    std::size_t bytes;
    std::size_t rows;
    std::size_t pitch;
};

/// The shortest of 1, 2 and 4 bytes that `value` repeats and that the memory is aligned for; 0 if there is none. (fill.cpp)
std::size_t word_of(const Rectangle& to, const void* value, std::size_t size) noexcept;

/// Loads the kernels' code onto the current device. On failure `call` names what failed.
cudaError_t load_fill_kernels(const char*& call) noexcept;

/// The kernel of a fill, with its arguments and what points to them: not to be moved.
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

/// What launch_fill() launches, for nodes of graphs.
void make_fill(FillKernel& fill, const Rectangle& to, const void* pattern, std::size_t size,
               int processors) noexcept;

/// Repeats `size` <= max_pattern bytes, which divide to.bytes, in every row.
cudaError_t launch_fill(const Rectangle& to, const void* pattern, std::size_t size, int processors,
                        cudaStream_t stream) noexcept;

/// Repeats the first `size` bytes of the rectangle, which divide to.bytes, in the rest of it.
cudaError_t launch_repeat(const Rectangle& to, std::size_t size, int processors,
                          cudaStream_t stream) noexcept;

}  // namespace heddle::detail::cu
