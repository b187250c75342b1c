#include "core/base/ids.hpp"

#include <atomic>

namespace heddle::detail {

namespace {
constexpr std::uint64_t block = 4096;
constinit std::atomic<std::uint64_t> next_block{1};

struct Ids {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
};
constinit thread_local Ids ids;
}  // namespace

std::uint64_t next_id() noexcept {
    if (ids.next == ids.end) [[unlikely]] {
        ids.next = next_block.fetch_add(block, std::memory_order_relaxed);
        ids.end = ids.next + block;
    }
    return ids.next++;
}

std::uint32_t this_thread_number() noexcept {
    static constinit std::atomic<std::uint32_t> count{0};
    static constinit thread_local std::uint32_t number = 0;
    if (number == 0) number = count.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

}  // namespace heddle::detail
