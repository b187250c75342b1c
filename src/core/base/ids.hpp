// Numbers that identify something in this process for good.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// Returns a number that no other call in this process returns; never 0. Each thread takes blocks
/// of them, so calls rarely share a cache line. Thread-safe.
std::uint64_t next_id() noexcept;

}  // namespace heddle::detail
