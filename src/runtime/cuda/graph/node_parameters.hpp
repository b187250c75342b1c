// Parameters of native graph nodes, and functions that add such nodes.
#pragma once

#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include "core/graph/graph.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/graph/native_node.hpp"
#include "cuda/graph/node_calls.hpp"
#include "cuda/launch/kernel_form.hpp"
#include "cuda/memory/memory_kernels.hpp"

namespace heddle::detail::cu {

/// Returns the form of a kernel node's work for the node's device `g`. Writes the addresses of the
/// closure's parts to `addresses`. The form refers to `addresses` and `site`.
KernelForm form_of(const NodeData& node, const Gpu& g, std::vector<void*>& addresses,
                   const BoundsSite* const& site, const SourceLocation& where);

/// Converts the form of a kernel to the driver's parameters. Unless the kernel was loaded at run
/// time, `func` is a runtime symbol and not a CUfunction yet.
CUDA_KERNEL_NODE_PARAMS kernel_parameters(const KernelForm& form) noexcept;

/// The parameters of a fill: a memset node where possible, else a kernel. Elements of up to
/// max_pattern bytes, other than 1, 2 or 4, always use a kernel. So an instantiated graph can
/// change to other values and memory of the same type. Larger elements must repeat a word, which is
/// then the element of the fill.
struct FillParameters {
    bool is_kernel = false;
    cudaMemsetParams memset{};
    FillKernel fill;
    cudaKernelNodeParams kernel{};

    /// `by_kernel`: always uses a kernel.
    FillParameters(const NodeData& node, const Gpu& g, bool by_kernel = false);
    FillParameters(const FillParameters&) = delete;
    FillParameters& operator=(const FillParameters&) = delete;
};

/// Enables pool access between the GPUs of a copy, if the copy has two. Throws Unsupported if these
/// GPUs cannot access each other.
void ensure_access(const NodeData& node, const SourceLocation& where);
/// Returns the parameters of a node that records an event, or waits for one.
NodeParameters event_parameters(const NodeData& node, const SourceLocation& where);
CUDA_MEMCPY3D copy_parameters(const Operand& to, const Operand& from) noexcept;

/// Returns the GPU of the node's device or, if that is a CPU device, the graph's GPU `of_graph`.
Gpu& gpu_of(const NodeData& node, Gpu& of_graph, const SourceLocation& where);

/// Returns the GPU whose context a copy or fill needs: the node's own GPU, if it owns one of the
/// operands, else the one that owns the destination or the source. CUDA refuses pool memory while
/// the context of a third GPU is current.
Gpu& gpu_of_memory(const NodeData& node, Gpu& of_graph, const SourceLocation& where);

/// The dependencies of a node.
struct Before {
    std::vector<cudaGraphNode_t> nodes;
    /// `early[i]` is true if `nodes[i]` is a kernel whose end the node need not wait for. Empty if
    /// there is no such kernel.
    std::vector<bool> early;

    /// `made[i]` is the graph's node i.
    Before(const GraphData& graph, const NodeData& node, std::span<const NativeNode> made);
};

using Nodes = NodeAdder::Nodes;

/// Adds the native nodes of work that is also allowed in bodies of conditional nodes: a conditional
/// node, a kernel, a copy or a fill. Returns the last of these native nodes.
cudaGraphNode_t add_work(const NodeAdder& adder, const NodeData& node, const Before& before);
/// Adds the native node of a kernel on a CUDA device, or of a copy or fill that is not staged. All
/// other kinds become empty nodes.
cudaGraphNode_t add_device_node(const NodeAdder& adder, const NodeData& node, const Before& before);
/// Adds a copy node, in the context of `g`.
cudaGraphNode_t add_copy_node(const NodeAdder& adder, const Nodes& after, const Operand& to,
                              const Operand& from, const Gpu& g);

/// Returns whether a copy or fill is staged: it needs several native nodes, and cannot be changed
/// in place. That is so for memory of a CPU device, which only the host can access, and for
/// elements too large for a kernel argument. (staging.cpp)
bool is_staged(const NodeData& node) noexcept;
/// Returns whether a staged node needs a native node that runs on the host.
bool needs_host(const NodeData& node) noexcept;
/// Adds the native nodes of a staged node. Returns the last of these native nodes.
cudaGraphNode_t add_staged_node(const NodeAdder& adder, const NodeData& node, const Nodes& after);

/// Adds a conditional node with its bodies. (conditional_nodes.cpp)
cudaGraphNode_t add_conditional(const NodeAdder& adder, const NodeData& node, const Nodes& after);

/// Returns whether any node has a priority, including nodes of bodies.
bool has_priorities(const GraphData& graph) noexcept;

}  // namespace heddle::detail::cu
