// Shapes of graphs: conflicts between nodes, and the accesses of a launch.
#pragma once

#include <vector>

#include "check/finding.hpp"

namespace heddle::detail {

/// Appends a finding for each pair of nodes that conflict and are not ordered. Nodes in alternative
/// bodies of a conditional node do not conflict. Repeated runs of one body are ordered.
void check_shape(const CheckShape& shape, std::vector<Finding>& to);

/// A node that waits for an event.
struct EventWait {
    std::uint64_t event = 0;
    SiteId site = 0;
};

/// The accesses of a part of a graph. All nodes of a part have the same wait nodes before them, and
/// the same record nodes after them.
struct ShapePart {
    std::vector<EventWait> waits;        ///< waits before this part, by event
    std::vector<std::uint64_t> records;  ///< events that are recorded after this part, in order
    std::vector<CheckAccess> accesses;   ///< accesses of all nodes of the part, merged
};

struct ShapeUse {
    /// Each part is listed after the parts with edges to it. Never empty.
    std::vector<ShapePart> parts;
    std::vector<std::uint64_t> records;  ///< all events that are recorded
    /// Whether the accesses of all nodes are known.
    bool is_known = true;
    /// Whether a node is a host function, or a kernel that creates an order of its own.
    bool may_signal = false;
};
ShapeUse use_of(const CheckShape& shape);

}  // namespace heddle::detail
