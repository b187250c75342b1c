// Tells observers that the host itself accesses memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/detail/block.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// Describes an access to memory of this array; null if heddle does not own it.
inline OpAccess access_of(const MemoryRange& memory, const Block* owner, AccessMode mode,
                          std::uint32_t element = 0) noexcept {
    return {memory, allocation_of(owner), element, mode};
}

/// Tells observers that the calling thread accesses memory, here and now. `name` says by what.
void tell_host_access(const char* name, WaitReason reason, std::span<const OpAccess> accesses,
                      std::size_t bytes, const SourceLocation& where) noexcept;

}  // namespace heddle::detail
