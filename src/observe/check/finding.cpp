#include "check/finding.hpp"

namespace heddle::detail {

const char* to_string(FindingKind kind) noexcept {
    switch (kind) {
    case FindingKind::write_after_write: return "write_after_write";
    case FindingKind::write_after_read: return "write_after_read";
    case FindingKind::read_after_write: return "read_after_write";
    case FindingKind::host_write_after_write: return "host_write_after_write";
    case FindingKind::host_write_after_read: return "host_write_after_read";
    case FindingKind::host_read_after_write: return "host_read_after_write";
    case FindingKind::use_before_allocation: return "use_before_allocation";
    case FindingKind::free_before_use: return "free_before_use";
    case FindingKind::use_after_free: return "use_after_free";
    case FindingKind::reuse: return "reuse";
    case FindingKind::elision_fault: return "elision_fault";
    }
    return "?";
}

bool FindingLog::add(const Finding& finding) {
    const Key key{finding.kind, finding.is_certain, finding.first.site, finding.second.site};
    const auto [found, is_new] = by_sites_.try_emplace(key, entries_.size());
    if (is_new) entries_.push_back({finding, 0});
    ++entries_[found->second].seen;
    return is_new;
}

}  // namespace heddle::detail
