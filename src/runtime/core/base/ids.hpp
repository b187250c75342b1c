// Numbers that identify something in this process and are never reused.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// Returns a number that no other call in this process returns; never 0. Each thread takes a block
/// of numbers at a time, so calls rarely share a cache line. Thread-safe.
std::uint64_t next_id() noexcept;

/// Returns the calling thread's number, which no other thread of the process has had; never 0.
std::uint32_t this_thread_number() noexcept;

}  // namespace heddle::detail
