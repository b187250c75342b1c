// The work of kernel nodes, without their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/graph/node_of.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Checks a launch and sets it as the node's work.
void set_kernel(NodeData& node, const LaunchCall& call);
/// Sets a launch that differs in one argument, which the caller has checked. The other arguments
/// keep the allocation serials that were noted when they were set.
void change_kernel(NodeData& node, const LaunchCall& call, std::int8_t argument);
/// Throws UsageError if an array that the node uses has been destroyed, even if another array now
/// uses its Block.
void check_arrays(const GraphNode& node, const SourceLocation& where);
struct SetKernel {
    NodeData& node;
    void operator()(const LaunchCall& call) const { set_kernel(node, call); }
};
struct ChangeKernel {
    NodeData& node;
    std::int8_t argument;
    void operator()(const LaunchCall& call) const { change_kernel(node, call, argument); }
};
/// Sets the extents and options. Has no effect while the node has no arguments.
void set_extents(NodeData& node, const std::size_t* extent, std::size_t dimensions,
                 const PassedOptions& how, const SourceLocation& where);
void set_grid(NodeData& node, const LaunchGrid& grid);
/// Throws as launch() does on a stream of the device. Raises the kernel's limit of dynamic shared
/// memory if needed.
void check_grid(Device device, const WorkType& type, void* kernel, const LaunchGrid& grid);
/// Reads the current extents (of a portable kernel) and options. Returns false, and changes
/// neither, while the node has no arguments.
bool read_shape(const NodeData& node, std::size_t* extent, LaunchOptions& options,
                const SourceLocation& where);
/// Throws UsageError unless both are kernels of one device.
void check_dependent(const NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Lets the kernel start before `first` has completed. Call it after after(first).
void make_dependent(NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Sets the priority, clamped to the device's range. Throws Unsupported if the priority changes in
/// an instantiated CUDA graph.
void set_priority(NodeData& node, int priority, const SourceLocation& where);
StreamState& any_stream(Device device);
/// Returns the kernel object of a node and writes its extents to `extent`. Throws UsageError if the
/// node's kernel is not the one that `asked` describes, or if the node has no arguments yet.
const void* kernel_of(const GraphNode& node, const AskedKernel& asked, std::size_t* extent,
                      const SourceLocation& where);
/// Throws UsageError if `a` is an empty Array. `argument` is its position in `call`, from 1.
template <class A>
void check_not_empty([[maybe_unused]] A& a, [[maybe_unused]] const char* call,
                     [[maybe_unused]] const SourceLocation& where, [[maybe_unused]] int argument) {
    if constexpr (is_array<std::remove_const_t<A>>)
        if (Access::block(a) == nullptr) [[unlikely]]
            throw_no_array(call, where, argument);
}
/// Throws as launch() does for the argument `index` on a stream of `device`.
template <class A>
void check_node_argument(A& a, std::size_t index, Device device, const SourceLocation& where) {
    KernelArg<A> kept = kernel_argument(a);
    MemoryArguments<KernelArg<A>> used;
    used.add(a, kept, index, false);
    if constexpr (KnownByAddress<A>) find_owners(used.memory.all, used.end, where);
    for (const MemoryArgument& one : used.all()) check_memory(one, any_stream(device), where);
    check_not_empty(a, "set", where, argument_index(index) + 1);
}
/// Throws UsageError for a PreparedLaunch that was moved from.
[[noreturn]] void throw_moved_prepared(const char* call, const SourceLocation& where);

/// Accepts dim() for kernel objects only, and grid() for all kernels.
template <class K, class S>
concept NodeKernel = std::is_same_v<S, LaunchGrid> || KernelObject<K>;
}  // namespace detail

}  // namespace heddle
