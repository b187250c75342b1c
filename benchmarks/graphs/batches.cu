// bench_graphs: the kernels of a batch, by hand: as launches, and as a graph.
#include <memory>

#include "graphs/chain.cuh"
#include "graphs/parts.hpp"

namespace bench {

namespace {

constexpr std::size_t n = 256;

__global__ void __launch_bounds__(256)
    small_kernel(const float* x, float* y, std::size_t count, float a, int b) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < count) y[at] = a * x[at] + static_cast<float>(b);
}

/// Two arrays, a stream, and a graph of small kernels.
class SmallKernels {
public:
    SmallKernels(heddle::Device device, int kernels)
        : kernels_(kernels), grid_(grid_of(n, device.info().processors)), chain_(kernels) {
        chain_.make_stream();
        ok(cudaMalloc(&memory_, 2 * n * sizeof(float)));
        ok(cudaMemset(memory_, 0, 2 * n * sizeof(float)));
        ok(cudaDeviceSynchronize());
    }
    SmallKernels(const SmallKernels&) = delete;
    SmallKernels& operator=(const SmallKernels&) = delete;
    ~SmallKernels() { cudaFree(memory_); }

    void launch_each() {
        for (int i = 0; i < kernels_; ++i) {
            small_kernel<<<grid_.blocks, grid_.threads, 0, chain_.stream()>>>(memory_, memory_ + n,
                                                                              n, 2.0f, i);
            ok(cudaGetLastError());
        }
    }
    void make_graph() {
        for_each_node(0, [&](std::size_t, const cudaKernelNodeParams& node) { chain_.add(node); });
        chain_.instantiate();
    }
    /// Changes the last argument of each kernel in the graph. That of the first kernel is `first`.
    void change(int first) {
        for_each_node(first, [&](std::size_t i, const cudaKernelNodeParams& node) {
            chain_.change(i, node);
        });
    }
    void launch_graph() { chain_.launch(); }
    void synchronize() { chain_.synchronize(); }

private:
    /// Calls f(index, parameters) for each kernel.
    template <class F> void for_each_node(int first, F f) {
        const float* x = memory_;
        float* y = memory_ + n;
        std::size_t count = n;
        float a = 2.0f;
        int b = first;
        void* arguments[] = {&x, &y, &count, &a, &b};
        const cudaKernelNodeParams node =
            node_of(reinterpret_cast<const void*>(&small_kernel), grid_, arguments);
        for (int i = 0; i < kernels_; ++i, ++b) f(static_cast<std::size_t>(i), node);
    }

    int kernels_;
    Grid grid_;
    Chain chain_;
    float* memory_ = nullptr;
};

/// Returns a peer that calls `call`, and waits if `to_the_end` is true.
template <class F>
Peer peer_of(const char* name, const std::shared_ptr<SmallKernels>& small, bool to_the_end,
             F call) {
    return {name,
            {repeat([=]() mutable {
                 call();
                 if (to_the_end) small->synchronize();
             }),
             [=] { small->synchronize(); }}};
}

}  // namespace

Peer raw_small_kernels(heddle::Device device, int kernels, bool to_the_end) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto small = std::make_shared<SmallKernels>(device, kernels);
    return peer_of("as many kernel launches", small, to_the_end, [=] { small->launch_each(); });
}

Peer raw_small_graph(heddle::Device device, int kernels, bool changed, bool to_the_end) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto small = std::make_shared<SmallKernels>(device, kernels);
    small->make_graph();
    if (!changed)
        return peer_of("cudaGraphLaunch of a graph of the same kernels", small, to_the_end,
                       [=] { small->launch_graph(); });
    return peer_of("cudaGraphExecKernelNodeSetParams for each kernel, cudaGraphLaunch", small,
                   to_the_end, [=, round = 0]() mutable {
                       small->change(++round * kernels);
                       small->launch_graph();
                   });
}

}  // namespace bench
