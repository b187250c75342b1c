// bench_graphs: graphs made by hand.
#pragma once

#include <cstddef>
#include <vector>

#include "raw_cuda.cuh"

namespace bench {

/// Returns the parameters of a kernel node. They refer to `arguments`: one pointer for each
/// argument of the kernel.
inline cudaKernelNodeParams node_of(const void* kernel, Grid grid, void** arguments) {
    cudaKernelNodeParams p{};
    p.func = const_cast<void*>(kernel);
    p.gridDim = dim3(grid.blocks);
    p.blockDim = dim3(grid.threads);
    p.kernelParams = arguments;
    return p;
}

/// A graph that is a chain of kernels, and a stream. Construct while the device is current.
class Chain {
public:
    explicit Chain(int count) {
        nodes_.reserve(static_cast<std::size_t>(count));
        ok(cudaGraphCreate(&graph_, 0));
    }
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    ~Chain() {
        if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
        cudaGraphDestroy(graph_);
        if (stream_ != nullptr) cudaStreamDestroy(stream_);
    }

    /// Adds a node after the last one.
    void add(const cudaKernelNodeParams& parameters) {
        cudaGraphNode_t node = nullptr;
        ok(cudaGraphAddKernelNode(&node, graph_, nodes_.empty() ? nullptr : &nodes_.back(),
                                  nodes_.empty() ? 0 : 1, &parameters));
        nodes_.push_back(node);
    }
    void instantiate() { ok(cudaGraphInstantiate(&exec_, graph_, 0)); }
    void make_stream() { ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }

    /// Changes a node of the instantiated graph.
    void change(std::size_t node, const cudaKernelNodeParams& parameters) {
        ok(cudaGraphExecKernelNodeSetParams(exec_, nodes_[node], &parameters));
    }
    void launch() { ok(cudaGraphLaunch(exec_, stream_)); }
    void synchronize() { ok(cudaStreamSynchronize(stream_)); }
    cudaStream_t stream() const { return stream_; }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    cudaStream_t stream_ = nullptr;
    std::vector<cudaGraphNode_t> nodes_;
};

}  // namespace bench
