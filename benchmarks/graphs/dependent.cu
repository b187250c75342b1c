// bench_graphs: dependent launches by hand, and graphs captured from them.
#include <memory>

#include "graphs/parts.hpp"
#include "raw_cuda.cuh"

namespace bench {

namespace {

__global__ void layer_kernel(const float* weights, float* x, std::size_t n) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const float weight = at < n ? weights[at] : 0.0f;
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    if (at < n) x[at] = weight * x[at] + 1.0f;
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

constexpr std::size_t n = 4096;

/// Streams, and the arrays of a chain of layers.
struct Layers {
    Raw raw{};
    float* memory = nullptr;

    Layers() {
        ok(cudaMalloc(&memory, 2 * n * sizeof(float)));
        ok(cudaMemset(memory, 0, 2 * n * sizeof(float)));
        ok(cudaDeviceSynchronize());
    }
    Layers(const Layers&) = delete;
    Layers& operator=(const Layers&) = delete;
    ~Layers() { cudaFree(memory); }

    /// Launches a layer. `attribute` may be null.
    void launch(cudaStream_t stream, cudaLaunchAttribute* attribute) const {
        cudaLaunchConfig_t config{};
        config.gridDim = dim3(n / 256);
        config.blockDim = dim3(256);
        config.stream = stream;
        config.attrs = attribute;
        config.numAttrs = attribute != nullptr ? 1 : 0;
        ok(cudaLaunchKernelEx(&config, layer_kernel, static_cast<const float*>(memory + n), memory,
                              n));
    }
};

/// Returns a peer that calls `launch_all` and waits. If `in_graph` is true, it launches a graph
/// captured from that call instead.
template <class F>
Peer run_to_the_end(const char* name, const std::shared_ptr<Layers>& layers, bool in_graph,
                    F launch_all) {
    const cudaStream_t stream = layers->raw.a;
    if (!in_graph)
        return {name, {repeat([=] {
                    launch_all();
                    ok(cudaStreamSynchronize(stream));
                })}};
    const auto graph = std::make_shared<RawGraph>(stream, launch_all);
    return {name, {repeat([=] {  // keeps `layers`, whose memory the graph uses
                graph->launch(layers->raw.a);
                ok(cudaStreamSynchronize(layers->raw.a));
            })}};
}

}  // namespace

Peer raw_dependent_chain(heddle::Device device, int kernels, bool dependent, bool in_graph) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto layers = std::make_shared<Layers>();
    return run_to_the_end(dependent ? "the same by hand" : "the plain chain by hand", layers,
                          in_graph, [=] {
                              cudaLaunchAttribute attribute{};
                              attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
                              attribute.val.programmaticStreamSerializationAllowed = 1;
                              for (int i = 0; i < kernels; ++i)
                                  layers->launch(layers->raw.a, dependent ? &attribute : nullptr);
                          });
}

Peer raw_pairs(heddle::Device device, int pairs, bool triggered, bool in_graph) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto layers = std::make_shared<Layers>();
    return run_to_the_end(triggered ? "the same by hand" : "plain events by hand", layers, in_graph,
                          [=] {
                              const Raw& r = layers->raw;
                              cudaLaunchAttribute trigger{};
                              trigger.id = cudaLaunchAttributeProgrammaticEvent;
                              trigger.val.programmaticEvent.event = r.of_a;
                              for (int i = 0; i < pairs; ++i) {
                                  layers->launch(r.a, triggered ? &trigger : nullptr);
                                  if (!triggered) ok(cudaEventRecord(r.of_a, r.a));
                                  ok(cudaStreamWaitEvent(r.b, r.of_a));
                                  layers->launch(r.b, nullptr);
                                  ok(cudaEventRecord(r.of_b, r.b));
                                  ok(cudaStreamWaitEvent(r.a, r.of_b));
                              }
                          });
}

}  // namespace bench
