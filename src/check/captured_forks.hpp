// Which captured operations are in which branches of a fork.
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

/// Remembers the forks within captures, for reports. A graph's nodes do not say in which branch
/// they were captured; their places do, as far as they are remembered.
class CapturedForks {
public:
    /// Takes an operation that was captured, enqueued at `site`.
    void add(const CheckOp& op, const Site& site);
    /// Returns the place of the innermost fork in two branches of which operations of these places
    /// were captured, or 0.
    SiteId fork_of(const Site& first, const Site& second) const;

private:
    static constexpr std::size_t most_places = 4096, most_branches = 16;

    struct Branch {
        std::uint64_t event = 0;  ///< of the fork
        std::uint64_t stream = 0;
        SiteId fork = 0;
        bool operator==(const Branch&) const = default;
    };
    using Place = std::tuple<std::string, unsigned, unsigned>;
    static Place place_of(const Site& site) { return {site.file, site.line, site.column}; }

    /// By stream: the branches that it is in, from the outermost one on.
    std::unordered_map<std::uint64_t, std::vector<Branch>> streams_;
    std::map<Place, std::vector<Branch>> places_;
};

}  // namespace heddle::detail
