// What nodes do, as CUDA's graphs want to be told.
#pragma once

#include <vector>

#include <cuda_runtime_api.h>

#include "core/graph.hpp"
#include "cuda/fill_kernels.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// The kernel's form and parameters point into each other: not to be moved.
struct KernelParameters {
    KernelForm form;
    cudaKernelNodeParams native{};

    KernelParameters(const NodeData& node, const SourceLocation& where);
    KernelParameters(const KernelParameters&) = delete;
    KernelParameters& operator=(const KernelParameters&) = delete;
};

/// The form of a kernel as the driver wants it; its function is a symbol's still where it is not loaded at run time.
CUDA_KERNEL_NODE_PARAMS kernel_parameters(KernelForm& form) noexcept;

/// A fill is a memset of CUDA's where it can be one, else a kernel. Elements of other than 1, 2 or 4 bytes are always kernels, so
/// that other values and other memory of the same type can take their place in an instantiated graph.
struct FillParameters {
    bool is_kernel = false;
    cudaMemsetParams memset{};
    FillKernel fill;
    cudaKernelNodeParams kernel{};

    FillParameters(const NodeData& node, const Gpu& g);
    FillParameters(const FillParameters&) = delete;
    FillParameters& operator=(const FillParameters&) = delete;
};

/// Gives GPUs access to each other's pools where one is copied to the other; throws Unsupported where that cannot be.
void ensure_access(const NodeData& node, const SourceLocation& where);
CUDA_MEMCPY3D copy_parameters(const Piece& to, const Piece& from) noexcept;

/// The GPU that a node of a graph of `of_graph` runs on.
Gpu& gpu_of(const NodeData& node, Gpu& of_graph, const SourceLocation& where);

/// The GPU whose context copies and fills need, whichever stream they were named with: memory of a pool is refused while another one's is
/// current.
Gpu& gpu_of_memory(const NodeData& node, Gpu& of_graph, const SourceLocation& where);

/// What a node comes after.
struct Before {
    std::vector<cudaGraphNode_t> nodes;
    std::vector<bool> early;  ///< which of them are kernels whose end it need not wait for; empty: none

    /// `made[i]` is node i of the graph.
    Before(const GraphData& graph, const NodeData& node, const std::vector<cudaGraphNode_t>& made);
};

/// Adds what the device does for a kernel of a CUDA device, a copy or a fill; for all other kinds, a node that does nothing. `keeper` is the
/// graph that owns what the node needs: `graph`, or the one whose body that is.
cudaGraphNode_t add_device_node(cudaGraph_t graph, cudaGraph_t keeper, const NodeData& node,
                                const Before& before, Gpu& of_graph, const SourceLocation& where);
cudaGraphNode_t add_copy_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after, const Piece& to,
                              const Piece& from, const Gpu& g, const SourceLocation& where);

/// Whether a copy or fill takes several nodes: memory of a CPU device, which only the host reaches, and elements that are too large to travel
/// with a launch. Such a node cannot be changed in place. (graph_staging.cpp)
bool is_staged(const NodeData& node) noexcept;
/// Whether one of those nodes runs on the host.
bool needs_host(const NodeData& node) noexcept;
/// Adds such nodes; returns the last.
cudaGraphNode_t add_staged_node(cudaGraph_t graph, cudaGraph_t keeper, const NodeData& node,
                                const std::vector<cudaGraphNode_t>& after, Gpu& of_graph,
                                const SourceLocation& where);
cudaGraphNode_t add_empty_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after,
                               const Gpu& of_graph, const SourceLocation& where);

/// Adds a conditional node with its bodies. (graph_conditional.cpp)
cudaGraphNode_t add_conditional(cudaGraph_t graph, cudaGraph_t keeper, const NodeData& node,
                                const std::vector<cudaGraphNode_t>& after, Gpu& of_graph,
                                const SourceLocation& where);

/// Whether a node has a priority, in bodies too.
bool has_priorities(const GraphData& graph) noexcept;

}  // namespace heddle::detail::cu
