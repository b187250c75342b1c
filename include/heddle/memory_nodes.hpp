// Memory that belongs to graphs.
#pragma once

#include <cstddef>
#include <type_traits>

#include <heddle/array.hpp>
#include <heddle/graph_nodes.hpp>

namespace heddle {

/// Says where memory is not needed any more in a graph, so that an allocation after it may take it over. Does nothing when it runs.
class FreeNode : public NodeOf<FreeNode> {
public:
    FreeNode() noexcept = default;  ///< refers to no node
    FreeNode(const Node& allocation, SourceLocation where);
};

struct AllocOptions {
    /// Takes over what this node freed, if that is large enough and nobody else took it, and then comes after it.
    FreeNode reuse{};
};

namespace detail {
std::shared_ptr<NodeData> new_allocation(Device device, std::size_t count, std::size_t element,
                                         NodeData* freed, const SourceLocation& where);
Block& block_of_memory(const NodeData& node);
}  // namespace detail

/// `size()` elements of the graph's device. The node has its memory from the moment it is made, so that other nodes can be given it;
/// the graph and its clones keep it, and never run side by side. What is in it between two launches is not settled. Does nothing when it
/// runs; what uses the memory comes after it.
template <class T> class AllocNode : public NodeOf<AllocNode<T>> {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                  "heddle::alloc_node<T>: T is copied as bytes, so it must be trivially copyable");

public:
    AllocNode(Device device, std::size_t count, const AllocOptions& options, SourceLocation where)
        : NodeOf<AllocNode>(detail::new_allocation(device, count, sizeof(T),
                                                   options.reuse ? &options.reuse.data() : nullptr, where)),
          size_(count) {
        if (options.reuse &&
            &detail::block_of_memory(options.reuse.data()) == &detail::block_of_memory(this->data()))
            this->after(options.reuse);
    }

    std::size_t size() const noexcept { return size_; }
    View<T> view() const {
        detail::Block& block = detail::block_of_memory(this->data());
        return {static_cast<T*>(block.data), size_, &block};
    }

private:
    std::size_t size_;
};

/// Memory for `count` elements on `device` (default: the current one). Throws OutOfMemory, and UsageError for memory of another device to
/// reuse.
template <class T>
AllocNode<T> alloc_node(Device device, std::size_t count, const AllocOptions& options = {},
                        SourceLocation where = SourceLocation::current()) {
    return {device, count, options, where};
}
template <class T>
AllocNode<T> alloc_node(std::size_t count, const AllocOptions& options = {},
                        SourceLocation where = SourceLocation::current()) {
    return {current_device(), count, options, where};
}
/// Comes after the allocation; say after() for all that uses the memory. UsageError where another node frees it already.
template <class T>
FreeNode free_node(const AllocNode<T>& allocation, SourceLocation where = SourceLocation::current()) {
    return {allocation, where};
}

}  // namespace heddle
