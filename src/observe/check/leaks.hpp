// Operations that may create an order that heddle cannot observe. Examples: host functions that may
// set a flag, streams with exposed handles, events that other processes wait for.
#pragma once

#include <vector>

#include "check/check_op.hpp"
#include "check/clock.hpp"

namespace heddle::detail {

/// Finds operations that may be ordered in a way that heddle cannot observe. Such an order begins
/// at an added operation, and may reach every operation that is enqueued later. So an operation has
/// no such order unless an added operation is ordered after it.
class Leaks {
public:
    void add(const Moment& moment, SiteId site) {
        moment.before.for_each_not_shared(last_, [&](Epoch epoch) { add(epoch, site); });
        add(moment.at, site);
        last_ = moment.before;
    }
    /// Returns the site of an added operation that is ordered after this one. Returns 0 if there is
    /// none.
    SiteId after(Epoch epoch) const noexcept {
        return epoch.position() <= reached_.at(epoch.slot()) ? sites_[epoch.slot()] : 0;
    }

private:
    void add(Epoch epoch, SiteId site) {
        if (epoch.position() <= reached_.at(epoch.slot())) return;
        reached_.raise(epoch);
        if (sites_.size() <= epoch.slot()) sites_.resize(epoch.slot() + 1);
        sites_[epoch.slot()] = site;
    }

    HostFloor reached_;
    std::vector<SiteId> sites_;
    Clock last_;  ///< the clock that was added last
};

}  // namespace heddle::detail
