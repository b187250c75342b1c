// Conditional nodes whose values __global__ functions write, and the priorities of such functions.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

__global__ void grow(int* data) { data[threadIdx.x] *= 2; }
__global__ void is_small(const int* data, int limit, int* answer) { *answer = data[0] < limit; }

}  // namespace

CUDA_TEST_CASE("a loop of __global__ functions ends when one of them says so") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    Array<int> x = full<int>(s, 32, 1), again = full<int>(s, 1, 1);
    s.synchronize();
    auto first = kernel_node(gpu, grow, grid(1, 32), x);
    auto ask = kernel_node(gpu, is_small, grid(1, 1), x, 1000, again).after(first);
    Graph graph = while_node(again, ask.build()).build();
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 1024));
}

CUDA_TEST_CASE("a node of a __global__ function has a priority until its graph is instantiated, in "
               "bodies too") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    Array<int> x = full<int>(s, 32, 1), value = full<int>(s, 1, 1);
    s.synchronize();
    auto inner = kernel_node(gpu, grow, grid(1, 32), x).priority(-1);
    auto branch = if_node(value, inner.build());
    auto last = kernel_node(gpu, grow, grid(1, 32), x).name("last").after(branch);
    last.priority(gpu.priorities().greatest);
    Graph graph = last.build();
    CHECK(graph.nodes().back().priority == gpu.priorities().greatest);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 4));
    const Error error = thrown_by([&] { last.priority(0); });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK_THAT(error.what(), contains("'last'"));
}

CUDA_TEST_CASE("a kernel of a CPU device in a body is refused on CUDA, by name") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    Array<int> x = zeros<int>(s, 10), value = zeros<int>(s, 1), host = pinned<int>(10);
    s.synchronize();
    auto on_gpu = kernel_node(gpu, Add{}, dim(10), x, 1);
    auto on_cpu =
        kernel_node(cpu_device(), Add{}, dim(10), host.view(), 1).after(on_gpu).name("on the CPU");
    Graph graph = if_node(value, on_cpu.build()).build();
    const Error error = thrown_by([&] { graph.instantiate(); });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK_THAT(error.what(), contains("'on the CPU' runs on a CPU device"));
}
