#include "core/operation/host_access.hpp"

namespace heddle::detail {

void tell_host_access(const char* name, WaitReason reason, std::span<const OpAccess> accesses,
                      std::size_t bytes, const SourceLocation& where) noexcept {
    notify({.kind = OpKind::host_access,
            .reason = reason,
            .name = name,
            .bytes = bytes,
            .accesses = accesses,
            .where = where});
}

}  // namespace heddle::detail
