// Graphs: conflicts between their nodes, and what a launch of one accesses.
#pragma once

#include <vector>

#include "check/finding.hpp"

namespace heddle::detail {

/// Appends each pair of nodes that conflict and have no order. The nodes of alternative bodies of a
/// conditional node do not conflict; the runs of one body come one after the other.
void check_shape(const CheckShape& shape, std::vector<Finding>& to);

/// A node that waits for an event.
struct EventWait {
    std::uint64_t event = 0;
    SiteId site = 0;
};

/// What part of a graph accesses: the nodes that come after the same wait nodes and before the same
/// record nodes.
struct ShapePart {
    std::vector<EventWait> waits;        ///< what it comes after, by event
    std::vector<std::uint64_t> records;  ///< events that come after it, in order
    std::vector<CheckAccess> accesses;   ///< merged
};

struct ShapeUse {
    /// In an order that respects the edges between them. At least one.
    std::vector<ShapePart> parts;
    std::vector<std::uint64_t> records;  ///< all events that are recorded
    /// Whether the accesses of all nodes are known.
    bool is_known = true;
    /// Whether a host function, or a kernel that makes an order of its own, is among the nodes.
    bool may_signal = false;
};
ShapeUse use_of(const CheckShape& shape);

}  // namespace heddle::detail
