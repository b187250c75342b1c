// The branches of forks in which operations were captured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "check/check_op.hpp"
#include "check/sites.hpp"

namespace heddle::detail {

/// Remembers the forks within captures, for reports. A graph's node does not name the branch in
/// which it was captured, so branches are stored by source place. Bounded: places may be forgotten.
class CapturedForks {
public:
    /// Records a captured operation that was enqueued at `site`.
    void add(const CheckOp& op, const Site& site);
    /// Finds the innermost fork that has the two places in different branches. Returns the fork's
    /// own place. Returns 0 if there is no such fork.
    SiteId fork_of(const Site& first, const Site& second) const;

private:
    static constexpr std::size_t most_places = 4096, most_branches = 16;

    struct Branch {
        std::uint64_t event = 0;  ///< the fork's event
        std::uint64_t stream = 0;
        SiteId fork = 0;
        bool operator==(const Branch&) const = default;
    };
    using Place = std::tuple<std::string, unsigned, unsigned>;
    static Place place_of(const Site& site) { return {site.file, site.line, site.column}; }

    /// By stream: the branches that contain the stream, outermost first.
    std::unordered_map<std::uint64_t, std::vector<Branch>> streams_;
    std::map<Place, std::vector<Branch>> places_;
};

}  // namespace heddle::detail
