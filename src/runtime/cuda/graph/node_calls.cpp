#include "cuda/graph/node_calls.hpp"

namespace heddle::detail::cu {

NodeParameters::NodeParameters(const cudaKernelNodeParams& kernel) noexcept
    : NodeParameters(cudaGraphNodeTypeKernel) {
    of_runtime_.kernel.func = kernel.func;
    of_runtime_.kernel.gridDim = kernel.gridDim;
    of_runtime_.kernel.blockDim = kernel.blockDim;
    of_runtime_.kernel.sharedMemBytes = kernel.sharedMemBytes;
    of_runtime_.kernel.kernelParams = kernel.kernelParams;
}

NodeParameters::NodeParameters(const CUDA_KERNEL_NODE_PARAMS& kernel) noexcept
    : is_of_driver_(true), of_driver_{} {
    of_driver_.type = CU_GRAPH_NODE_TYPE_KERNEL;
    of_driver_.kernel.func = kernel.func;
    of_driver_.kernel.gridDimX = kernel.gridDimX;
    of_driver_.kernel.gridDimY = kernel.gridDimY;
    of_driver_.kernel.gridDimZ = kernel.gridDimZ;
    of_driver_.kernel.blockDimX = kernel.blockDimX;
    of_driver_.kernel.blockDimY = kernel.blockDimY;
    of_driver_.kernel.blockDimZ = kernel.blockDimZ;
    of_driver_.kernel.sharedMemBytes = kernel.sharedMemBytes;
    of_driver_.kernel.kernelParams = kernel.kernelParams;
}

NodeParameters::NodeParameters(const CUDA_MEMCPY3D& copy, CUcontext context) noexcept
    : is_of_driver_(true), of_driver_{} {
    of_driver_.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    of_driver_.memcpy.copyCtx = context;
    of_driver_.memcpy.copyParams = copy;
}

NodeParameters::NodeParameters(const cudaMemsetParams& memset) noexcept
    : NodeParameters(cudaGraphNodeTypeMemset) {
    of_runtime_.memset.dst = memset.dst;
    of_runtime_.memset.pitch = memset.pitch;
    of_runtime_.memset.value = memset.value;
    of_runtime_.memset.elementSize = memset.elementSize;
    of_runtime_.memset.width = memset.width;
    of_runtime_.memset.height = memset.height;
}

NodeParameters::NodeParameters(cudaHostFn_t function, void* data) noexcept
    : NodeParameters(cudaGraphNodeTypeHost) {
    of_runtime_.host.fn = function;
    of_runtime_.host.userData = data;
}

NodeParameters NodeParameters::child_graph(cudaGraph_t graph) noexcept {
    NodeParameters p(cudaGraphNodeTypeGraph);
    p.of_runtime_.graph.graph = graph;
    return p;
}

NodeParameters NodeParameters::record_event(cudaEvent_t event) noexcept {
    NodeParameters p(cudaGraphNodeTypeEventRecord);
    p.of_runtime_.eventRecord.event = event;
    return p;
}

NodeParameters NodeParameters::wait_event(cudaEvent_t event) noexcept {
    NodeParameters p(cudaGraphNodeTypeWaitEvent);
    p.of_runtime_.eventWait.event = event;
    return p;
}

cudaError_t add_node(cudaGraphNode_t& made, cudaGraph_t graph,
                     std::span<const cudaGraphNode_t> after, NodeParameters p,
                     const cudaGraphEdgeData* edges) {
    if (p.is_of_driver_)
        return as_runtime(
            api.cuGraphAddNode(&made, graph, after.data(), nullptr, after.size(), &p.of_driver_));
    return api.cudaGraphAddNode(&made, graph, after.data(), edges, after.size(), &p.of_runtime_);
}

cudaGraphNode_t NodeAdder::add(const Nodes& after, NodeParameters p, const char* call,
                               const cudaGraphEdgeData* edges) const {
    cudaGraphNode_t made = nullptr;
    check(add_node(made, graph_, after, p, edges), call, named_->index, *where_);
    return made;
}

cudaGraphNode_t NodeAdder::add_conditional(cudaGraphNode_t after,
                                           cudaConditionalNodeParams& p) const {
    cudaGraphNodeParams all{};
    all.type = cudaGraphNodeTypeConditional;
    all.conditional = p;
    cudaGraphNode_t made = nullptr;
    check(api.cudaGraphAddNode(&made, graph_, &after, nullptr, 1, &all),
          "cudaGraphAddNode (conditional)", named_->index, *where_);
    p = all.conditional;
    return made;
}

cudaError_t change_node(cudaGraphExec_t exec, cudaGraphNode_t node, NodeParameters p) {
    if (p.is_of_driver_) return as_runtime(api.cuGraphExecNodeSetParams(exec, node, &p.of_driver_));
    return api.cudaGraphExecNodeSetParams(exec, node, &p.of_runtime_);
}

}  // namespace heddle::detail::cu
