// The host's own uses of arrays, and the function that checks them.
#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/memory/detail/block.hpp>
#include <heddle/memory/detail/host_use.hpp>

namespace heddle::detail {

/// A use of an array's elements by the host: the calling thread is about to use them.
struct ToldUse {
    std::uintptr_t begin = 0, end = 0;              ///< addresses
    std::uintptr_t array_begin = 0, array_end = 0;  ///< addresses of the whole array
    std::uint64_t allocation = 0;                   ///< see allocation_of()
    HostUse use{0, HostCall::none, false};
    SourceLocation where;
};

/// Uses of [begin, end) that need no check until the next operation is enqueued. `kinds` is a set
/// of the flags below.
struct KnownUses {
    enum : std::uint8_t { reads = 1, all = 2, addresses = 4 };
    std::uintptr_t begin = 0, end = 0;
    std::uint8_t kinds = 0;
};

/// Checks a use. Its answer is valid as long as host_use_epoch stays the same.
using HostUseFunction = KnownUses (*)(const ToldUse& use) noexcept;
/// Set before host_use_epoch becomes greater than 0, and never changed after that.
inline constinit std::atomic<HostUseFunction> host_use_function{nullptr};

}  // namespace heddle::detail
