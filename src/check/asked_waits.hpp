// Which waits reports have asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "check/finding.hpp"

namespace heddle::detail {

/// Remembers the missing waits that were reported, the newest ones. One missing wait shows in as
/// many reports as pairs of places that it would order.
class AskedWaits {
public:
    /// Returns the place before which a wait is missing that would order the two, too, or 0.
    SiteId find(const Finding& finding) const noexcept {
        if (!is_for_wait(finding)) return 0;
        for (const Asked& one : asked_)
            if (one.first == finding.first.stream && one.second == finding.second.stream &&
                finding.first.position <= one.covers)
                return one.before;
        return 0;
    }
    /// A wait is asked for that covers its first stream up to that position.
    void add(const Finding& finding, std::uint64_t covers) {
        if (!is_for_wait(finding)) return;
        if (asked_.size() == most) asked_.erase(asked_.begin());
        asked_.push_back(
            {finding.first.stream, finding.second.stream, covers, finding.second.site});
    }

private:
    static constexpr std::size_t most = 64;
    struct Asked {
        std::uint64_t first, second;  ///< streams; the second one may be the host
        std::uint64_t covers;
        SiteId before;
    };
    static bool is_for_wait(const Finding& finding) noexcept {
        switch (finding.kind) {
        case FindingKind::free_before_use:
        case FindingKind::use_after_free:
        case FindingKind::reuse:
        case FindingKind::elision_fault: return false;
        default: return !finding.in_graph && finding.first.stream != 0;
        }
    }

    std::vector<Asked> asked_;
};

}  // namespace heddle::detail
