// Tells observers that the host itself accesses memory.
#pragma once

#include <cstddef>
#include <span>

#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// Tells observers that the calling thread accesses memory, here and now. `name` says by what.
void tell_host_access(const char* name, WaitReason reason, std::span<const OpAccess> accesses,
                      std::size_t bytes, const SourceLocation& where) noexcept;

}  // namespace heddle::detail
