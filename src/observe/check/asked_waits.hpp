// The missing waits that reports have already suggested.
#pragma once

#include <cstdint>
#include <vector>

#include "check/finding.hpp"

namespace heddle::detail {

/// Remembers the newest missing waits that were reported. One missing wait can cause several races:
/// one race for each pair of places that the wait would order.
class AskedWaits {
public:
    /// Searches for a missing wait that was suggested for an earlier finding, and that would also
    /// order the two accesses of `finding`. Returns the place before which that wait is missing, or
    /// 0 if there is none.
    SiteId find(const Finding& finding) const noexcept {
        if (!is_for_wait(finding)) return 0;
        for (const Asked& one : asked_)
            if (one.first == finding.first.stream && one.second == finding.second.stream &&
                finding.first.position <= one.covers)
                return one.before;
        return 0;
    }
    /// Records that a wait was suggested for the finding. The wait covers the first side's stream
    /// up to position `covers`.
    void add(const Finding& finding, std::uint64_t covers) {
        if (!is_for_wait(finding)) return;
        if (asked_.size() == most) asked_.erase(asked_.begin());
        asked_.push_back(
            {finding.first.stream, finding.second.stream, covers, finding.second.site});
    }

private:
    static constexpr std::size_t most = 64;
    struct Asked {
        std::uint64_t first, second;  ///< ids of streams; `second` is 0 for the host
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
