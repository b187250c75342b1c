// Nodes that call a host function.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include <heddle/graph/node_of.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/operation/host_access.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Sets a host function and the memory that it uses. Moves the closure out of `self`, which the
/// caller still has to destroy.
void set_host_function(NodeData& node, const WorkType& type, void* self,
                       std::span<const MemoryArgument> memory, const SourceLocation& where);
}  // namespace detail

/// A node that calls a host function once in every launch, on any thread, under the rules of
/// launch_host(). Made by host_node().
///
///     auto check = host_node([] { std::puts("done"); }).after(store);
///
/// Lifetime: the node owns the function, and a launch that is enqueued keeps it. Errors: an
/// exception of the function poisons the stream of the launch.
class HostNode : public NodeOf<HostNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a host function.
    explicit HostNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::host_function, where)) {}
    /// Sets the function, from the next launch on.
    template <detail::HostCallable F> HostNode& call(F&& function, Where where = {}) {
        set(std::forward<F>(function), {}, where);
        return *this;
    }
    /// Sets the function and the memory that it uses, from the next launch on. The memory is
    /// declared with reads() and writes().
    template <detail::HostCallable F, std::derived_from<DeclaredAccess>... A>
    HostNode& call(F&& function, const DeclaredAccess& first, const A&... more) {
        const detail::DeclaredMemory memory(first, more...);
        set(std::forward<F>(function), memory, first.where());
        return *this;
    }

private:
    friend detail::Access;
    template <detail::HostCallable F>
    HostNode(F&& function, Device device, std::span<const detail::MemoryArgument> memory,
             Where where)
        : NodeOf(detail::new_node(NodeKind::host_function, device, where)) {
        set(std::forward<F>(function), memory, where);
    }
    template <class F>
    void set(F&& function, std::span<const detail::MemoryArgument> memory, Where where) try {
        detail::HostFunction<std::decay_t<F>> closure{std::forward<F>(function)};
        detail::set_host_function(data(), detail::host_work_type<std::decay_t<F>>, &closure, memory,
                                  where);
    } catch (...) {
        detail::rethrow_as_error("host_node", where);
    }
};
/// Makes a node that calls `f`. `device` (default: the current one) is the device of the graph.
template <detail::HostCallable F> HostNode host_node(Device device, F&& f, Where where = {}) {
    return detail::Access::make<HostNode>(std::forward<F>(f), device,
                                          std::span<const detail::MemoryArgument>(), where);
}
template <detail::HostCallable F> HostNode host_node(F&& f, Where where = {}) {
    return host_node(current_device(), std::forward<F>(f), where);
}
/// Makes a node that calls a function with declared arrays and views, as for launch_host():
///
///     auto check = host_node([v = result.view()] { use(v[0]); }, reads(result)).after(store);
template <detail::HostCallable F, std::derived_from<DeclaredAccess>... A>
HostNode host_node(Device device, F&& f, const DeclaredAccess& first, const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    return detail::Access::make<HostNode>(
        std::forward<F>(f), device, std::span<const detail::MemoryArgument>(memory), first.where());
}
template <detail::HostCallable F, std::derived_from<DeclaredAccess>... A>
HostNode host_node(F&& f, const DeclaredAccess& first, const A&... more) {
    return host_node(current_device(), std::forward<F>(f), first, more...);
}

}  // namespace heddle
