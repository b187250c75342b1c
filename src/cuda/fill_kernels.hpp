// The kernels behind fill(), as plain functions: all that fill.cu shows to C++ files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

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

/// Repeats the pattern over host memory. (fill.cpp)
void fill_on_host(const Rectangle& to, const std::vector<std::byte>& pattern) noexcept;

/// All of them, whose code is loaded when a device is first used.
std::span<const void* const> fill_kernels() noexcept;

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

/// Repeats `size` <= max_pattern bytes, which divide to.bytes, in every row.
void make_fill(FillKernel& fill, const Rectangle& to, const void* pattern, std::size_t size,
               int processors) noexcept;

/// As FillKernel; its pattern is in memory.
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

/// Repeats the first `size` bytes of the rectangle, which divide to.bytes, in the rest of it.
void make_repeat(RepeatKernel& repeat, const Rectangle& to, std::size_t size, int processors) noexcept;

}  // namespace heddle::detail::cu
