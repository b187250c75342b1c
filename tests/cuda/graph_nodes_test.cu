// Nodes that run __global__ functions, and nodes on several devices.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

__global__ void add(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] += value; }
__global__ void twice(int* data) { data[threadIdx.x] *= 2; }
__global__ void nothing() {}

}  // namespace

CUDA_TEST_CASE("__global__ functions are nodes: in order, with late and new arguments and grids") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    Array<int> x = zeros<int>(s, 64);
    auto first = kernel_node(gpu, nothing, grid(1, 1));
    auto plus = kernel_node(gpu, add, grid(1, 32)).after(first).name("plus");
    auto double_it = kernel_node(gpu, twice, grid(1, 32), x).after(plus);
    CHECK_THROWS_AS(double_it.build(), UsageError);
    plus.args(x, 3);
    Graph graph = double_it.build();
    graph.launch(s);
    Ints expected(64, 0);
    std::fill_n(expected.begin(), 32, 6);
    CHECK(to_host(s, x) == expected);
    plus.args(x, 4).grid(grid(2, 32));
    graph.launch(s);
    std::fill_n(expected.begin(), 32, 20);
    std::fill_n(expected.begin() + 32, 32, 4);
    CHECK(to_host(s, x) == expected);
    CHECK(graph.node("plus") == plus);
}

CUDA_TEST_CASE("a node of a __global__ function is refused an impossible block, and a CPU device") {
    CHECK_THROWS_AS(kernel_node(Device("cuda:0"), nothing, grid(1, 5000)), UsageError);
    CHECK_THROWS_AS(kernel_node(cpu_device(), nothing, grid(1, 1)), UsageError);
}

CUDA_TEST_CASE("kernels of a CPU device run in a CUDA graph, between its copies") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    Array<int> x = full<int>(s, 100, 5);
    Array<int> host = pinned<int>(100);
    auto down = copy_node(host, x);
    auto on_cpu = kernel_node(cpu_device(), Add{}, dim(100), host.view(), 1).after(down);
    auto up = copy_node(x, host).after(on_cpu);
    Graph graph = up.build();
    CHECK(graph.device() == gpu);
    graph.launch(s);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(100, 7));
}

TEST_CASE("one graph has nodes of two GPUs", "[cuda][multi]") {
    if (device_count(DeviceKind::cuda) < 2) HEDDLE_SKIP("needs two devices");
    const Device a("cuda:0"), b("cuda:1");
    const Stream on_a(a), on_b(b);
    Array<int> x = full<int>(on_a, 1000, 1), y = zeros<int>(on_b, 1000);
    on_b.synchronize();
    auto first = kernel_node(a, Add{}, dim(1000), x, 1);
    Array<int> host = pinned<int>(1000);
    auto down = copy_node(host, x).after(first);
    auto up = copy_node(y, host).after(down);
    auto second = kernel_node(b, Multiply{}, dim(1000), y, 10).after(up);
    auto back = copy_node(host, y).after(second);
    Graph graph = back.build();
    graph.launch(on_a.device() == graph.device() ? on_a : on_b);
    synchronize();
    CHECK(Ints(host.begin(), host.end()) == Ints(1000, 20));
    Graph across = copy_node(y, x).build();
    if (!a.can_access_peer(b)) {
        CHECK(thrown_by([&] { across.instantiate(); }).code() == ErrorCode::unsupported);
        return;
    }
    const Stream on_graph(across.device());
    on_graph.wait_stream(on_a);
    on_graph.wait_stream(on_b);
    across.launch(on_graph);
    on_graph.synchronize();
    CHECK(to_host(y) == Ints(1000, 2));
    CHECK(is_pool_access_enabled(a, b));
}
