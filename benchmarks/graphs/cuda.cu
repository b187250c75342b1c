// bench_graphs: CUDA's own graphs, used by hand.
#include <memory>
#include <vector>

#include "graphs/parts.hpp"
#include "raw_cuda.cuh"

namespace bench {

namespace {

__global__ void empty_kernel(int) {}

/// Returns the kernel's parameters, which refer to `arguments`.
cudaKernelNodeParams parameters(void** arguments) {
    cudaKernelNodeParams p{};
    p.func = reinterpret_cast<void*>(&empty_kernel);
    p.gridDim = dim3(1);
    p.blockDim = dim3(32);
    p.kernelParams = arguments;
    return p;
}

__global__ void small_kernel(const float* x, float* y, std::size_t n, float a, int i) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < n) y[at] = a * x[at] + static_cast<float>(i);
}

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

void add_kernel(cudaGraph_t graph, cudaGraphNode_t& node, const cudaGraphNode_t* after,
                int& argument) {
    void* arguments[] = {&argument};
    const cudaKernelNodeParams p = parameters(arguments);
    ok(cudaGraphAddKernelNode(&node, graph, after, after != nullptr ? 1 : 0, &p));
}

/// A graph that is a chain of empty kernels, and a stream.
struct Chain {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStream_t stream = nullptr;
    std::vector<cudaGraphNode_t> nodes;

    explicit Chain(int count) : nodes(static_cast<std::size_t>(count)) {
        ok(cudaGraphCreate(&graph, 0));
        int argument = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            add_kernel(graph, nodes[i], i != 0 ? &nodes[i - 1] : nullptr, argument);
    }
    void instantiate() { ok(cudaGraphInstantiate(&exec, graph, 0)); }
    void make_stream() { ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    ~Chain() {
        if (exec != nullptr) cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        if (stream != nullptr) cudaStreamDestroy(stream);
    }
};

}  // namespace

Peer raw_graph_launch(heddle::Device device, int nodes) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<Chain>(nodes);
    chain->instantiate();
    chain->make_stream();
    return {"cudaGraphLaunch",
            {repeat([=] { ok(cudaGraphLaunch(chain->exec, chain->stream)); }),
             [=] { ok(cudaStreamSynchronize(chain->stream)); }}};
}

Peer raw_graph_build(heddle::Device device, int nodes, bool instantiated) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    return {instantiated ? "cudaGraphAddKernelNode, cudaGraphInstantiate"
                         : "cudaGraphAddKernelNode",
            {repeat([=] {
                Chain chain(nodes);
                if (instantiated) chain.instantiate();
            })}};
}

Peer raw_graph_update(heddle::Device device) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<Chain>(1);
    chain->instantiate();
    chain->make_stream();
    return {"cudaGraphExecKernelNodeSetParams, cudaGraphLaunch",
            {repeat([=](int i) {
                 void* arguments[] = {&i};
                 const cudaKernelNodeParams p = parameters(arguments);
                 ok(cudaGraphExecKernelNodeSetParams(chain->exec, chain->nodes[0], &p));
                 ok(cudaGraphLaunch(chain->exec, chain->stream));
             }),
             [=] { ok(cudaStreamSynchronize(chain->stream)); }}};
}

Peer raw_launch(heddle::Device device) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<Chain>(1);
    chain->make_stream();
    return {"a kernel launch",
            {repeat([=](int i) {
                 empty_kernel<<<1, 32, 0, chain->stream>>>(i);
                 ok(cudaGetLastError());
             }),
             [=] { ok(cudaStreamSynchronize(chain->stream)); }}};
}

Peer raw_launches(heddle::Device device, int nodes) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto chain = std::make_shared<Chain>(1);
    chain->make_stream();
    return {"as many kernel launches", {repeat([=] {
                for (int i = 0; i < nodes; ++i) {
                    empty_kernel<<<1, 32, 0, chain->stream>>>(i);
                    ok(cudaGetLastError());
                }
                ok(cudaStreamSynchronize(chain->stream));
            })}};
}

Peer raw_small_kernels(heddle::Device device, int kernels, bool to_the_end) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    struct Data {
        cudaStream_t stream = nullptr;
        float* memory = nullptr;
        ~Data() {
            cudaFree(memory);
            cudaStreamDestroy(stream);
        }
    };
    constexpr std::size_t n = 256;
    const auto data = std::make_shared<Data>();
    ok(cudaStreamCreateWithFlags(&data->stream, cudaStreamNonBlocking));
    ok(cudaMalloc(&data->memory, 2 * n * sizeof(float)));
    ok(cudaMemset(data->memory, 0, 2 * n * sizeof(float)));
    const auto finish = [=] { ok(cudaStreamSynchronize(data->stream)); };
    return {"as many kernel launches",
            {repeat([=] {
                 for (int i = 0; i < kernels; ++i) {
                     small_kernel<<<1, 256, 0, data->stream>>>(data->memory, data->memory + n, n,
                                                               2.0f, i);
                     ok(cudaGetLastError());
                 }
                 if (to_the_end) finish();
             }),
             finish}};
}

Peer raw_dependent_chain(heddle::Device device, int kernels, bool dependent, bool in_graph) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    constexpr std::size_t n = 4096;
    struct Data {
        cudaStream_t stream = nullptr;
        cudaGraphExec_t exec = nullptr;
        float* memory = nullptr;
        ~Data() {
            if (exec != nullptr) cudaGraphExecDestroy(exec);
            cudaFree(memory);
            cudaStreamDestroy(stream);
        }
    };
    const auto data = std::make_shared<Data>();
    ok(cudaStreamCreateWithFlags(&data->stream, cudaStreamNonBlocking));
    ok(cudaMalloc(&data->memory, 2 * n * sizeof(float)));
    ok(cudaMemset(data->memory, 0, 2 * n * sizeof(float)));
    ok(cudaDeviceSynchronize());
    const auto launch_all = [=] {
        for (int i = 0; i < kernels; ++i) {
            cudaLaunchAttribute attribute{};
            attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute.val.programmaticStreamSerializationAllowed = 1;
            cudaLaunchConfig_t config{};
            config.gridDim = dim3(n / 256);
            config.blockDim = dim3(256);
            config.stream = data->stream;
            config.attrs = &attribute;
            config.numAttrs = dependent ? 1 : 0;
            ok(cudaLaunchKernelEx(&config, layer_kernel,
                                  static_cast<const float*>(data->memory + n), data->memory, n));
        }
    };
    const char* const name = dependent ? "the same by hand" : "the plain chain by hand";
    if (!in_graph)
        return {name, {repeat([=] {
                    launch_all();
                    ok(cudaStreamSynchronize(data->stream));
                })}};
    ok(cudaStreamBeginCapture(data->stream, cudaStreamCaptureModeThreadLocal));
    launch_all();
    cudaGraph_t graph = nullptr;
    ok(cudaStreamEndCapture(data->stream, &graph));
    ok(cudaGraphInstantiate(&data->exec, graph, 0));
    ok(cudaGraphDestroy(graph));
    return {name, {repeat([=] {
                ok(cudaGraphLaunch(data->exec, data->stream));
                ok(cudaStreamSynchronize(data->stream));
            })}};
}

Peer raw_pairs(heddle::Device device, int pairs, bool triggered, bool in_graph) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    constexpr std::size_t n = 4096;
    struct Data {
        Raw raw{};
        cudaGraphExec_t exec = nullptr;
        float* memory = nullptr;
        ~Data() {
            if (exec != nullptr) cudaGraphExecDestroy(exec);
            cudaFree(memory);
        }
    };
    const auto data = std::make_shared<Data>();
    ok(cudaMalloc(&data->memory, 2 * n * sizeof(float)));
    ok(cudaMemset(data->memory, 0, 2 * n * sizeof(float)));
    ok(cudaDeviceSynchronize());
    const auto launch = [=](cudaStream_t stream, cudaEvent_t trigger) {
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticEvent;
        attribute.val.programmaticEvent.event = trigger;
        cudaLaunchConfig_t config{};
        config.gridDim = dim3(n / 256);
        config.blockDim = dim3(256);
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = trigger != nullptr ? 1 : 0;
        ok(cudaLaunchKernelEx(&config, layer_kernel, static_cast<const float*>(data->memory + n),
                              data->memory, n));
    };
    const auto launch_all = [=] {
        const Raw& r = data->raw;
        for (int i = 0; i < pairs; ++i) {
            launch(r.a, triggered ? r.of_a : nullptr);
            if (!triggered) ok(cudaEventRecord(r.of_a, r.a));
            ok(cudaStreamWaitEvent(r.b, r.of_a));
            launch(r.b, nullptr);
            ok(cudaEventRecord(r.of_b, r.b));
            ok(cudaStreamWaitEvent(r.a, r.of_b));
        }
    };
    const char* const name = triggered ? "the same by hand" : "plain events by hand";
    if (!in_graph)
        return {name, {repeat([=] {
                    launch_all();
                    ok(cudaStreamSynchronize(data->raw.a));
                })}};
    ok(cudaStreamBeginCapture(data->raw.a, cudaStreamCaptureModeThreadLocal));
    launch_all();
    cudaGraph_t graph = nullptr;
    ok(cudaStreamEndCapture(data->raw.a, &graph));
    ok(cudaGraphInstantiate(&data->exec, graph, 0));
    ok(cudaGraphDestroy(graph));
    return {name, {repeat([=] {
                ok(cudaGraphLaunch(data->exec, data->raw.a));
                ok(cudaStreamSynchronize(data->raw.a));
            })}};
}

}  // namespace bench
