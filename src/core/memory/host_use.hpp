// Uses of arrays by the host, and who is asked about them.
#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/detail/block.hpp>
#include <heddle/detail/host_use.hpp>

namespace heddle::detail {

/// A use of an array's elements by the host, here and now.
struct ToldUse {
    std::uintptr_t begin = 0, end = 0;              ///< addresses
    std::uintptr_t array_begin = 0, array_end = 0;  ///< of all of the array
    std::uint64_t allocation = 0;                   ///< see allocation_of()
    HostUse use{0, HostCall::none, false};
    SourceLocation where;
};

/// Which uses of [begin, end) need not be told until something is enqueued.
struct KnownUses {
    enum : std::uint8_t { reads = 1, all = 2, addresses = 4 };
    std::uintptr_t begin = 0, end = 0;
    std::uint8_t kinds = 0;
};

/// The check's answer to a use. It holds while host_use_epoch stays the same.
using HostUseFunction = KnownUses (*)(const ToldUse& use) noexcept;
/// Set before host_use_epoch is first more than 0, and for good.
inline constinit std::atomic<HostUseFunction> host_use_function{nullptr};

}  // namespace heddle::detail
