// Reports to observers memory accesses of the host itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/memory/detail/block.hpp>
#include <heddle/operation/observer.hpp>

namespace heddle::detail {

/// Describes an access to memory. `block` is null if heddle does not own the memory.
inline OpAccess access_of(const MemoryRange& memory, const Block* owner, AccessMode mode,
                          std::uint32_t element = 0) noexcept {
    return {memory, allocation_of(owner), element, mode};
}

/// Reports to observers that the calling thread accesses memory now. `name` describes the access.
void tell_host_access(const char* name, WaitReason reason, std::span<const OpAccess> accesses,
                      std::size_t bytes, const SourceLocation& where) noexcept;

}  // namespace heddle::detail
