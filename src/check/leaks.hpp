// Where order may leave what heddle sees: host functions that may set a flag, streams whose handles
// were handed out, events that other processes wait for.
#pragma once

#include <vector>

#include "check/check_op.hpp"
#include "check/clock.hpp"

namespace heddle::detail {

/// An order that cannot be seen leaves through one of these operations, and reaches whatever is
/// enqueued later. So what precedes none of them has no such order to anything.
class Leaks {
public:
    void add(const Moment& moment, SiteId site) {
        moment.before.for_each_not_shared(last_, [&](Epoch epoch) { add(epoch, site); });
        add(moment.at, site);
        last_ = moment.before;
    }
    /// Returns the operation through which order may leave that comes after this one, or 0.
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
    Clock last_;  ///< what was added last
};

}  // namespace heddle::detail
