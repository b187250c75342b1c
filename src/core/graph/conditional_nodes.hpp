// Conditional nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/errors.hpp"
#include "core/graph/graph.hpp"

namespace heddle::detail {

/// Makes a node that reads `value` when it runs, and runs its bodies accordingly. The node's device
/// is the value's. For a value in pinned memory, it is the first body's device.
std::shared_ptr<NodeData> make_conditional(ConditionalKind kind, const Region& value,
                                           std::vector<std::unique_ptr<GraphData>> bodies,
                                           const SourceLocation& where);
std::shared_ptr<const Conditional> clone_conditional(const Conditional& conditional);
/// Throws UsageError, which names the node, if a graph of this device cannot have this conditional
/// node.
void check_conditional(const NodeData& node, Device device, const SourceLocation& where);

/// Throws UsageError for the value of a condition that is not one int. `who` names its owner.
[[noreturn]] void throw_not_one_int(const ErrorSite& site, std::string_view who, std::size_t count);

}  // namespace heddle::detail
