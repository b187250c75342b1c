// Memory nodes: memory that graphs own.
#pragma once

#include <cstddef>

#include <heddle/graph/nodes.hpp>
#include <heddle/memory/array.hpp>

namespace heddle HEDDLE_VISIBLE {

/// A node that marks the end of an allocation's use in a graph. A later allocation can then reuse
/// the memory (AllocOptions::reuse). Running the node has no effect. Made by free_node(). Example:
/// see AllocNode. Errors: see free_node() and alloc_node(). Lifetime and threads: see GraphNode.
class FreeNode : public NodeOf<FreeNode> {
public:
    FreeNode() noexcept = default;  ///< refers to no node

private:
    friend detail::Access;
    FreeNode(const GraphNode& allocation, Where where);
};

/// Options of alloc_node().
struct AllocOptions {
    /// Reuses the memory that this node frees, and orders the allocation after it. If that memory
    /// is too small or already reused, has no effect: the allocation then has its own memory.
    FreeNode reuse{};
};

namespace detail {
std::shared_ptr<NodeData> new_allocation(Device device, std::size_t count, std::size_t element,
                                         NodeData* freed, const SourceLocation& where);
Block& block_of_memory(const NodeData& node);
}  // namespace detail

/// A node that owns memory for `size()` elements on the graph's device. Made by alloc_node().
///
///     auto scratch = alloc_node<float>(1000);
///     auto set = fill_node(scratch.view(), 1.0f).after(scratch);
///     auto done = free_node(scratch).after(set);
///     auto more = alloc_node<float>(500, {.reuse = done});  // the same memory, after `done`
///
/// Lifetime: the memory is allocated when the node is made, so that view() can be passed to other
/// nodes. The graph and its clones share it, and therefore never run concurrently. Its contents are
/// unspecified between launches. Order: running the node has no effect. Place all users of the
/// memory after() this node. Errors: see alloc_node(). Threads: see GraphNode.
template <class T> class AllocNode : public NodeOf<AllocNode<T>> {
    static_assert(detail::ArrayElement<T>,
                  "heddle::alloc_node<T>: T is copied as bytes, so it must be trivially copyable");

public:
    /// Returns the number of elements.
    std::size_t size() const noexcept { return size_; }
    /// Returns a view of the memory, for other nodes of the same graph.
    View<T> view() const {
        detail::Block& block = detail::block_of_memory(this->data());
        return detail::Access::view(static_cast<T*>(block.data), size_, &block);
    }

private:
    friend detail::Access;
    AllocNode(Device device, std::size_t count, const AllocOptions& options, Where where)
        : NodeOf<AllocNode>(detail::new_allocation(
              device, count, sizeof(T),
              options.reuse ? &detail::Access::data(options.reuse) : nullptr, where)),
          size_(count) {
        if (options.reuse && &detail::block_of_memory(detail::Access::data(options.reuse)) ==
                                 &detail::block_of_memory(this->data()))
            this->after(options.reuse);
    }

    std::size_t size_;
};

/// Makes a node with memory for `count` elements on `device` (default: the current one). Throws
/// OutOfMemory. Throws UsageError if the memory to reuse is on another device, or if the node that
/// frees it is already in a graph.
template <class T>
AllocNode<T> alloc_node(Device device, std::size_t count, const AllocOptions& options = {},
                        Where where = {}) {
    return detail::Access::make<AllocNode<T>>(device, count, options, where);
}
template <class T>
AllocNode<T> alloc_node(std::size_t count, const AllocOptions& options = {}, Where where = {}) {
    return alloc_node<T>(current_device(), count, options, where);
}
/// Makes a node that frees the memory of `allocation` and depends on it. Place it after() all users
/// of the memory. Throws UsageError if another node already frees it.
template <class T> FreeNode free_node(const AllocNode<T>& allocation, Where where = {}) {
    return detail::Access::make<FreeNode>(allocation, where);
}

}  // namespace heddle
