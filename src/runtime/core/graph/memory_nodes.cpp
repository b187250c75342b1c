// Memory nodes: the ownership of their memory, and its reuse.
#include <heddle/graph/memory_nodes.hpp>

#include "core/base/errors.hpp"
#include "core/graph/graph.hpp"

namespace heddle {

FreeNode::FreeNode(const GraphNode& allocation, Where where) try
    : NodeOf(detail::new_node(NodeKind::free, allocation.device(), where)) {
    detail::NodeData& from = detail::Access::data(allocation);
    if (from.is_taken)
        detail::usage_error({"free_node", where},
                            "{} is already freed by another free_node(): free each allocation once",
                            label_of(from));
    add_dependency(allocation, where);
    data().owned = from.owned;
    from.is_taken = true;
} catch (...) {
    detail::rethrow_as_error("free_node", where);
}

namespace detail {

std::shared_ptr<NodeData> new_allocation(Device device, std::size_t count, std::size_t element,
                                         NodeData* freed, const SourceLocation& where) try {
    auto node = new_node(NodeKind::allocate, device, where);
    if (freed != nullptr && freed->device != device)
        usage_error(
            {"alloc_node", where},
            "{} frees memory of {}, but this node is for {}: reuse memory of the same device",
            label_of(*freed), freed->device, device);
    if (freed != nullptr && freed->graph != nullptr)
        usage_error({"alloc_node", where},
                    "{} is already in a graph: reuse its memory before build()", label_of(*freed));
    const bool is_enough = freed != nullptr && !freed->is_taken && count <= SIZE_MAX / element &&
                           freed->owned.front().block().bytes >= count * element;
    if (is_enough) {
        node->owned = freed->owned;
        freed->is_taken = true;
    } else {
        node->owned.reserve(1);  // must precede allocate(): if it threw later, the block would leak
        node->owned.emplace_back(
            allocate(default_stream(device), count, element, "alloc_node", where));
    }
    return node;
} catch (...) {
    detail::rethrow_as_error("alloc_node", where);
}

Block& block_of_memory(const NodeData& node) { return node.owned.front().block(); }

}  // namespace detail
}  // namespace heddle
