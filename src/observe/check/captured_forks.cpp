#include "check/captured_forks.hpp"

#include <algorithm>

namespace heddle::detail {

void CapturedForks::add(const CheckOp& op, const Site& site) {
    if (op.kind == OpKind::wait && op.reason == WaitReason::fork) {
        if (streams_.size() >= most_places) streams_.clear();
        std::vector<Branch> branches;
        if (const auto around = streams_.find(op.other); around != streams_.end())
            branches = around->second;
        branches.push_back({op.event.event, op.stream, op.site});
        streams_[op.stream] = std::move(branches);
        return;
    }
    const auto within = streams_.find(op.stream);
    if (within == streams_.end() || op.accesses.empty()) return;
    if (places_.size() >= most_places) places_.clear();
    std::vector<Branch>& known = places_[place_of(site)];
    for (const Branch& one : within->second)
        if (std::ranges::find(known, one) == known.end()) known.push_back(one);
    if (known.size() > most_branches)
        known.erase(known.begin(), known.end() - static_cast<std::ptrdiff_t>(most_branches));
}

SiteId CapturedForks::fork_of(const Site& first, const Site& second) const {
    const auto a = places_.find(place_of(first)), b = places_.find(place_of(second));
    if (a == places_.end() || b == places_.end()) return 0;
    for (auto one = a->second.rbegin(); one != a->second.rend(); ++one)
        for (const Branch& other : b->second)
            if (one->event == other.event && one->stream != other.stream) return one->fork;
    return 0;
}

}  // namespace heddle::detail
