// bench_graphs: CUDA's own graphs, used by hand.
#include <memory>

#include "graphs/chain.cuh"
#include "graphs/parts.hpp"

namespace bench {

namespace {

__global__ void empty_kernel(int) {}

/// A graph that is a chain of empty kernels. Their argument is 0.
struct EmptyChain : Chain {
    explicit EmptyChain(int count) : Chain(count) {
        int argument = 0;
        void* arguments[] = {&argument};
        const cudaKernelNodeParams node = empty_node(arguments);
        for (int i = 0; i < count; ++i) add(node);
    }
    static cudaKernelNodeParams empty_node(void** arguments) {
        return node_of(reinterpret_cast<const void*>(&empty_kernel), {1, 32}, arguments);
    }
};

}  // namespace

Peer raw_graph_launch(heddle::Device device, int nodes) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<EmptyChain>(nodes);
    chain->instantiate();
    chain->make_stream();
    return {"cudaGraphLaunch", {repeat([=] { chain->launch(); }), [=] { chain->synchronize(); }}};
}

Peer raw_graph_build(heddle::Device device, int nodes, bool instantiated) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    return {instantiated ? "cudaGraphAddKernelNode, cudaGraphInstantiate"
                         : "cudaGraphAddKernelNode",
            {repeat([=] {
                EmptyChain chain(nodes);
                if (instantiated) chain.instantiate();
            })}};
}

Peer raw_graph_update(heddle::Device device, int nodes, bool to_the_end) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<EmptyChain>(nodes);
    chain->instantiate();
    chain->make_stream();
    return {nodes == 1 ? "cudaGraphExecKernelNodeSetParams, cudaGraphLaunch"
                       : "cudaGraphExecKernelNodeSetParams for each kernel, cudaGraphLaunch",
            {repeat([=, argument = 0]() mutable {
                 void* arguments[] = {&argument};
                 const cudaKernelNodeParams node = EmptyChain::empty_node(arguments);
                 for (int i = 0; i < nodes; ++i) {
                     ++argument;
                     chain->change(static_cast<std::size_t>(i), node);
                 }
                 chain->launch();
                 if (to_the_end) chain->synchronize();
             }),
             [=] { chain->synchronize(); }}};
}

Peer raw_launch(heddle::Device device) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<EmptyChain>(1);
    chain->make_stream();
    return {"a kernel launch",
            {repeat([=](int i) {
                 empty_kernel<<<1, 32, 0, chain->stream()>>>(i);
                 ok(cudaGetLastError());
             }),
             [=] { chain->synchronize(); }}};
}

Peer raw_launches(heddle::Device device, int nodes) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<EmptyChain>(1);
    chain->make_stream();
    return {"as many kernel launches", {repeat([=] {
                for (int i = 0; i < nodes; ++i) {
                    empty_kernel<<<1, 32, 0, chain->stream()>>>(i);
                    ok(cudaGetLastError());
                }
                chain->synchronize();
            })}};
}

}  // namespace bench
