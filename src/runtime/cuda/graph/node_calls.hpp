// The calls that add native nodes to graphs and change them in executables. No other file makes
// such calls, because CUDA is replacing the calls for single types of nodes by generic calls.
#pragma once

#include <span>
#include <vector>

#include "core/seam/records.hpp"
#include "cuda/device/driver.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// The parameters of a native node, for the generic calls. A kernel's parameters refer to its
/// arguments, which must outlive this object.
class NodeParameters {
public:
    NodeParameters() noexcept : NodeParameters(cudaGraphNodeTypeEmpty) {}
    /// For a kernel of the runtime: `func` is its symbol.
    explicit NodeParameters(const cudaKernelNodeParams& kernel) noexcept;
    /// For a kernel of the driver: `func` is a CUfunction.
    explicit NodeParameters(const CUDA_KERNEL_NODE_PARAMS& kernel) noexcept;
    NodeParameters(const CUDA_MEMCPY3D& copy, CUcontext context) noexcept;
    explicit NodeParameters(const cudaMemsetParams& memset) noexcept;
    NodeParameters(cudaHostFn_t function, void* data) noexcept;

    static NodeParameters child_graph(cudaGraph_t graph) noexcept;
    static NodeParameters record_event(cudaEvent_t event) noexcept;
    static NodeParameters wait_event(cudaEvent_t event) noexcept;

private:
    explicit NodeParameters(cudaGraphNodeType type) noexcept { of_runtime_.type = type; }
    friend cudaError_t add_node(cudaGraphNode_t& made, cudaGraph_t graph,
                                std::span<const cudaGraphNode_t> after, NodeParameters p,
                                const cudaGraphEdgeData* edges);
    friend cudaError_t change_node(cudaGraphExec_t exec, cudaGraphNode_t node, NodeParameters p);

    bool is_of_driver_ = false;
    union {
        cudaGraphNodeParams of_runtime_{};
        CUgraphNodeParams of_driver_;
    };
};

/// Adds a node after the nodes `after`. `edges`: null, or one edge for each node of `after`;
/// allowed only for kernels of the runtime.
cudaError_t add_node(cudaGraphNode_t& made, cudaGraph_t graph,
                     std::span<const cudaGraphNode_t> after, NodeParameters p,
                     const cudaGraphEdgeData* edges = nullptr);

/// Adds nodes to a graph, or to the body of a conditional node.
class NodeAdder {
public:
    /// `keeper` owns the nodes' objects: `graph` itself or, if that is a body, the outermost graph.
    /// `g`: the graph's GPU.
    NodeAdder(cudaGraph_t graph, cudaGraph_t keeper, Gpu& g, const SourceLocation& where) noexcept
        : graph_(graph), keeper_(keeper), gpu_(&g), named_(&g), where_(&where) {}
    /// Returns an adder like this one, but with errors that name `g`.
    NodeAdder about(const Gpu& g) const noexcept {
        NodeAdder other = *this;
        other.named_ = &g;
        return other;
    }

    using Nodes = std::vector<cudaGraphNode_t>;
    /// Like add_node(). `call` is the call's name in errors.
    cudaGraphNode_t add(const Nodes& after, NodeParameters p, const char* call = "cudaGraphAddNode",
                        const cudaGraphEdgeData* edges = nullptr) const;
    /// Adds a conditional node. Returns the graphs of its bodies in `p`.
    cudaGraphNode_t add_conditional(cudaGraphNode_t after, cudaConditionalNodeParams& p) const;

    cudaGraph_t graph() const noexcept { return graph_; }
    cudaGraph_t keeper() const noexcept { return keeper_; }
    bool is_body() const noexcept { return graph_ != keeper_; }
    Gpu& gpu() const noexcept { return *gpu_; }
    const SourceLocation& where() const noexcept { return *where_; }

private:
    cudaGraph_t graph_, keeper_;
    Gpu* gpu_;
    const Gpu* named_;
    const SourceLocation* where_;
};

/// Changes the parameters of an executable's node, for later launches.
cudaError_t change_node(cudaGraphExec_t exec, cudaGraphNode_t node, NodeParameters p);
/// Like change_node(), but for kernels and copies, which programs change often. These functions use
/// the driver's calls for one type of node: 0.2 µs per kernel instead of the runtime's 0.35 µs
/// (driver 580). The generic call has not been measured. To switch to it, return change_node(exec,
/// node, NodeParameters(...)).
inline cudaError_t change_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
                                 const CUDA_KERNEL_NODE_PARAMS& kernel) {
    return as_runtime(api.cuGraphExecKernelNodeSetParams(exec, node, &kernel));
}
inline cudaError_t change_copy(cudaGraphExec_t exec, cudaGraphNode_t node,
                               const CUDA_MEMCPY3D& copy, CUcontext context) {
    return as_runtime(api.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context));
}

}  // namespace heddle::detail::cu
