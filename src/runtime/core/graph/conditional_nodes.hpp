// Conditional nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/errors.hpp"
#include "core/graph/graph.hpp"

namespace heddle::detail {

/// Makes a node that reads `value` when it runs, and then runs the bodies that the value selects.
/// The node is on the value's device. If the value is in pinned memory, the node is on the first
/// body's device.
std::shared_ptr<NodeData> make_conditional(ConditionalKind kind, const Region& value,
                                           std::vector<std::unique_ptr<GraphData>> bodies,
                                           const SourceLocation& where);
std::shared_ptr<const Conditional> clone_conditional(const Conditional& conditional);
/// Throws UsageError that names the node if a graph on this device cannot contain the conditional
/// node.
void check_conditional(const NodeData& node, Device device, const SourceLocation& where);

/// Throws UsageError because the value of a condition is not a single int. The message begins with
/// the name of the node or condition that has the value.
[[noreturn]] void throw_not_one_int(const ErrorSite& site, std::string_view who, std::size_t count);

}  // namespace heddle::detail
