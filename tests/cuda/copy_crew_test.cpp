// Copies of host memory by several threads, with and without use of the caches. Needs no GPU.
#include "cuda/memory/parallel_memcpy.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>

using namespace heddle_test;
using heddle::detail::cu::copy_on_host;
using heddle::detail::cu::Stores;

namespace {

constexpr std::byte untouched{0xee};

std::vector<std::byte> numbered(std::size_t bytes) {
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        all[i] = static_cast<std::byte>((i * 2654435761u) >> 24);
    return all;
}

/// Copies rows of `bytes` bytes to memory that begins at offset `first`. Returns whether every row
/// is correct and no other byte has changed.
bool is_copied(std::size_t bytes, std::size_t rows, std::size_t first, std::size_t to_gap,
               std::size_t from_gap, Stores stores) {
    const std::size_t to_pitch = bytes + to_gap, from_pitch = bytes + from_gap;
    std::vector<std::byte> from = numbered(first + rows * from_pitch);
    std::vector<std::byte> to(first + rows * to_pitch + 64, untouched), expected = to;
    for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(r * from_pitch), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(first + r * to_pitch));
    copy_on_host({to.data() + first, bytes, rows, to_pitch}, {from.data(), bytes, rows, from_pitch},
                 stores);
    return to == expected;
}

}  // namespace

TEST_CASE("copies of host memory are whole, whatever their size and place") {
    for (const Stores stores : {Stores::cached, Stores::past_caches}) {
        for (std::size_t bytes = 0; bytes < 300; ++bytes)
            for (const std::size_t first : {0u, 1u, 15u, 16u, 63u})
                CHECK(is_copied(bytes, 1, first, 0, 0, stores));
        for (const std::size_t bytes : {262'144u, 262'145u, 1'000'003u, 5'000'000u})
            for (const std::size_t first : {0u, 3u})
                CHECK(is_copied(bytes, 1, first, 0, 0, stores));
        for (const std::size_t bytes : {1u, 100u, 4096u, 200'001u})
            for (const std::size_t gap : {0u, 7u, 64u}) {
                CHECK(is_copied(bytes, 17, 1, gap, 0, stores));
                CHECK(is_copied(bytes, 17, 0, 0, gap, stores));
                CHECK(is_copied(bytes, 17, 5, gap, gap, stores));
            }
    }
}

TEST_CASE("several threads copy at the same time") {
    std::atomic<int> right{0};
    on_threads(4, [&right](int t) {
        for (int i = 0; i < 20; ++i)
            if (is_copied(1'500'000 + static_cast<std::size_t>(t * 1001 + i), 1, 2, 0, 0,
                          i % 2 == 0 ? Stores::past_caches : Stores::cached))
                ++right;
    });
    CHECK(right == 80);
}
