#include "core/graph/node.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/kernel_name.hpp"
#include "core/launch/launch.hpp"

namespace heddle::detail {

NodeData::~NodeData() {
    // Destroys the dependencies in a loop. Recursion could overflow the stack for a long chain of
    // nodes. Does not allocate.
    std::shared_ptr<NodeData> gone;
    const auto let_go = [&gone](std::vector<std::shared_ptr<NodeData>>& nodes) {
        for (std::shared_ptr<NodeData>& node : nodes) {
            if (node.use_count() != 1) continue;
            node->next_gone = std::move(gone);
            gone = std::move(node);
        }
        nodes.clear();
    };
    let_go(after);
    while (gone != nullptr) {
        const std::shared_ptr<NodeData> node = std::exchange(gone, std::move(gone->next_gone));
        let_go(node->after);
    }
}

bool NodeData::is_dependent_on(const NodeData& first) const noexcept {
    return std::ranges::find(primaries, &first) != primaries.end();
}

std::string NodeData::display_name() const {
    if (!name.empty()) return name;
    std::string text = kind == NodeKind::kernel && work.type != nullptr
                           ? kernel_name(work.type->op->pretty)
                           : std::string(to_string(kind));
    if (graph != nullptr) text += formatted(" {}", index);
    return text;
}

namespace {
/// Returns the name of a kernel node's kernel in the form that kernel_name() expects. A __global__
/// function is known only once the node has arguments.
const char* pretty_of(const Work& work) noexcept {
    return work.closure != nullptr ? name_of_kernel(*work.type, kernel_of(work))
                                   : work.type->op->pretty;
}
}  // namespace

std::string label_of(const NodeData& node, std::size_t number) {
    const std::string suffix = number == 0 ? "" : formatted(" #{}", number);
    if (!node.name.empty()) return formatted("{} '{}'{}", to_string(node.kind), node.name, suffix);
    std::string text = node.kind == NodeKind::kernel && node.work.type != nullptr
                           ? formatted("kernel {}{}", kernel_name(pretty_of(node.work)), suffix)
                           : formatted("the {}{}", to_string(node.kind), suffix);
    if (node.graph != nullptr) text += formatted(" (node {})", node.index);
    else if (node.where.line != 0)
        text += formatted(" (made at {}:{})", node.where.file, node.where.line);
    return text;
}

std::string label_with_place(const NodeData& node) {
    const std::string label = label_of(node);
    const bool has_place = node.graph == nullptr && node.name.empty();
    if (has_place || node.where.line == 0) return label;
    return formatted("{}, made at {}:{},", label, node.where.file, node.where.line);
}

int clamped_priority(Device device, int priority) {
    const PriorityRange range = device.priorities();
    return std::clamp(priority, range.greatest, range.least);
}

void take_priority(NodeData& node) {
    int& passed = node.work.options.priority;
    if (passed == LaunchOptions::inherit_priority) return;
    node.priority = clamped_priority(node.device, passed);
    passed = LaunchOptions::inherit_priority;
}

}  // namespace heddle::detail
