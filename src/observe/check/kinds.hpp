// Determines the kind of a finding from the conflict.
#pragma once

#include "check/finding.hpp"
#include "check/history.hpp"

namespace heddle::detail {

/// Returns the kind of a finding. `first` is the kind of the earlier operation; `mode` and `by`
/// belong to the later access.
inline FindingKind kind_of(const Conflict& conflict, OpKind first, AccessMode mode, OpKind by) {
    if (by == OpKind::allocate) return FindingKind::reuse;
    if (conflict.first.is_free) return FindingKind::use_after_free;
    if (by == OpKind::free) return FindingKind::free_before_use;
    if (first == OpKind::allocate) return FindingKind::use_before_allocation;
    const bool reads = mode == AccessMode::read, by_host = by == OpKind::host_access;
    if (reads) return by_host ? FindingKind::host_read_after_write : FindingKind::read_after_write;
    if (conflict.first.mode == AccessMode::read)
        return by_host ? FindingKind::host_write_after_read : FindingKind::write_after_read;
    return by_host ? FindingKind::host_write_after_write : FindingKind::write_after_write;
}

}  // namespace heddle::detail
