// Kernels that repeat a pattern over memory, or copy rectangles. cudaMemset can repeat only single
// bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda/memory/memory_kernels.hpp"

namespace heddle::detail::cu {

namespace {

constexpr unsigned threads = 256;

struct alignas(16) Pattern {
    unsigned char bytes[max_pattern];
};

// A row has `words` words of type W, and the pattern has `period` words. The grid strides over rows
// and words.
template <class W>
__global__ void __launch_bounds__(threads)
    fill_words(char* to, std::size_t words, std::size_t rows, std::size_t pitch, unsigned period,
               Pattern pattern) {
    const W* source = reinterpret_cast<const W*>(pattern.bytes);
    const std::size_t step = std::size_t{gridDim.x} * threads;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
        W* line = reinterpret_cast<W*>(to + row * pitch);
        if (period == 1) {
            const W word = source[0];
            for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < words;
                 i += step)
                line[i] = word;
        } else {
            // Tracks the position in the pattern, because a division for every word would cost more
            // than writing the word.
            std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
            unsigned phase = static_cast<unsigned>(i % period);
            const unsigned advance = static_cast<unsigned>(step % period);
            for (; i < words; i += step) {
                line[i] = source[phase];
                phase += advance;
                if (phase >= period) phase -= period;
            }
        }
    }
}

template <class W>
__global__ void __launch_bounds__(threads)
    repeat_words(char* to, std::size_t words, std::size_t rows, std::size_t pitch,
                 std::size_t period) {
    const W* source = reinterpret_cast<const W*>(to);
    const std::size_t step = std::size_t{gridDim.x} * threads;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
        W* line = reinterpret_cast<W*>(to + row * pitch);
        for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < words; i += step)
            if (row != 0 || i >= period) line[i] = source[i % period];
    }
}

template <class W>
__global__ void __launch_bounds__(threads)
    copy_words(char* to, const char* from, std::size_t words, std::size_t rows,
               std::size_t to_pitch, std::size_t from_pitch) {
    const std::size_t step = std::size_t{gridDim.x} * threads;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
        W* line = reinterpret_cast<W*>(to + row * to_pitch);
        const W* source = reinterpret_cast<const W*>(from + row * from_pitch);
        for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < words; i += step)
            line[i] = source[i];
    }
}

/// Returns whether start, rows and pattern consist of whole words of `word` bytes.
bool fits(const MemoryRange& to, std::size_t size, std::size_t word) {
    return (to.address() | size | to.bytes | (to.rows > 1 ? to.pitch : 0)) % word == 0;
}

dim3 grid_for(std::size_t words, std::size_t rows, int processors) {
    // Enough blocks to fill the device a few times. Each block strides over the memory.
    const std::size_t most = static_cast<std::size_t>(std::max(processors, 1)) * 16;
    const std::size_t x = std::clamp<std::size_t>((words + threads - 1) / threads, 1, most);
    const std::size_t y = std::clamp<std::size_t>(most / x, 1, std::min<std::size_t>(rows, 65535));
    return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
}

static_assert(sizeof(Pattern) == sizeof(FillKernel::pattern) && alignof(Pattern) == 16);

template <class W>
void make_as(FillKernel& fill, const MemoryRange& to, std::size_t size, int processors) noexcept {
    fill.data = const_cast<char*>(static_cast<const char*>(to.data));
    fill.words = to.bytes / sizeof(W);
    fill.rows = to.rows;
    fill.pitch = to.pitch;
    fill.period = static_cast<unsigned>(size / sizeof(W));
    fill.function = reinterpret_cast<const void*>(&fill_words<W>);
    fill.grid = grid_for(fill.words, fill.rows, processors);
    fill.block = dim3(threads);
}

template <class W>
void repeat_as(RepeatKernel& repeat, const MemoryRange& to, std::size_t size,
               int processors) noexcept {
    repeat.data = const_cast<char*>(static_cast<const char*>(to.data));
    repeat.words = to.bytes / sizeof(W);
    repeat.rows = to.rows;
    repeat.pitch = to.pitch;
    repeat.period = size / sizeof(W);
    repeat.function = reinterpret_cast<const void*>(&repeat_words<W>);
    repeat.grid = grid_for(repeat.words, repeat.rows, processors);
    repeat.block = dim3(threads);
}

template <class W>
void copy_as(CopyKernel& copy, const MemoryRange& to, const MemoryRange& from,
             int processors) noexcept {
    copy.to = const_cast<char*>(static_cast<const char*>(to.data));
    copy.from = static_cast<const char*>(from.data);
    copy.words = to.bytes / sizeof(W);
    copy.rows = to.rows;
    copy.to_pitch = to.pitch;
    copy.from_pitch = from.pitch;
    copy.function = reinterpret_cast<const void*>(&copy_words<W>);
    copy.grid = grid_for(copy.words, copy.rows, processors);
    copy.block = dim3(threads);
}

}  // namespace

std::span<const void* const> memory_kernels() noexcept {
    static const void* const all[] = {reinterpret_cast<const void*>(&fill_words<std::uint8_t>),
                                      reinterpret_cast<const void*>(&fill_words<std::uint16_t>),
                                      reinterpret_cast<const void*>(&fill_words<std::uint32_t>),
                                      reinterpret_cast<const void*>(&fill_words<std::uint64_t>),
                                      reinterpret_cast<const void*>(&fill_words<uint4>),
                                      reinterpret_cast<const void*>(&repeat_words<std::uint8_t>),
                                      reinterpret_cast<const void*>(&repeat_words<std::uint32_t>),
                                      reinterpret_cast<const void*>(&repeat_words<uint4>),
                                      reinterpret_cast<const void*>(&copy_words<std::uint8_t>),
                                      reinterpret_cast<const void*>(&copy_words<std::uint32_t>),
                                      reinterpret_cast<const void*>(&copy_words<uint4>)};
    return all;
}

void make_fill(FillKernel& fill, const MemoryRange& to, const void* value, std::size_t size,
               int processors) noexcept {
    std::memcpy(fill.pattern, value, size);
    // Writes 16 bytes at a time if the pattern's size divides 16 and the memory is aligned to 16
    // bytes.
    if (16 % size == 0 && fits(to, 16, 16)) {
        for (std::size_t filled = size; filled < 16; filled *= 2)
            std::memcpy(fill.pattern + filled, fill.pattern, filled);
        return make_as<uint4>(fill, to, 16, processors);
    }
    if (fits(to, size, 16)) return make_as<uint4>(fill, to, size, processors);
    if (fits(to, size, 8)) return make_as<std::uint64_t>(fill, to, size, processors);
    if (fits(to, size, 4)) return make_as<std::uint32_t>(fill, to, size, processors);
    if (fits(to, size, 2)) return make_as<std::uint16_t>(fill, to, size, processors);
    return make_as<std::uint8_t>(fill, to, size, processors);
}

void make_copy(CopyKernel& copy, const MemoryRange& to, const MemoryRange& from,
               int processors) noexcept {
    if (fits(to, 16, 16) && fits(from, 16, 16)) return copy_as<uint4>(copy, to, from, processors);
    if (fits(to, 4, 4) && fits(from, 4, 4))
        return copy_as<std::uint32_t>(copy, to, from, processors);
    copy_as<std::uint8_t>(copy, to, from, processors);
}

void make_repeat(RepeatKernel& repeat, const MemoryRange& to, std::size_t size,
                 int processors) noexcept {
    if (fits(to, size, 16)) return repeat_as<uint4>(repeat, to, size, processors);
    if (fits(to, size, 4)) return repeat_as<std::uint32_t>(repeat, to, size, processors);
    repeat_as<std::uint8_t>(repeat, to, size, processors);
}

}  // namespace heddle::detail::cu
