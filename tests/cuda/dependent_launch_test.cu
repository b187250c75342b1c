// Dependent launches of __global__ functions, and their options.
#include "../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

__global__ void twice_and_one(int* data) {
    wait_for_primary();
    data[threadIdx.x] = 2 * data[threadIdx.x] + 1;
    trigger_dependents();
}
__global__ void shared_sum(int* out, int n) {
    extern __shared__ int values[];
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
        values[i] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < n; ++i) sum += values[i];
        *out = sum;
    }
}

}  // namespace

template <> inline constexpr bool heddle::waits_for_primary<&twice_and_one> = true;

CUDA_TEST_CASE("__global__ functions are launched as dependents, eagerly and captured") {
    const Stream s(Device("cuda:0"));
    Array<int> x = zeros<int>(s, 32), y = zeros<int>(s, 32);
    for (int i = 0; i < 10; ++i) launch_dependent<&twice_and_one>(s, grid(1, 32), x);
    CHECK(to_host(s, x) == std::vector<int>(32, 1023));
    Graph graph = capture(s, [&] {
        for (int i = 0; i < 10; ++i) launch_dependent<&twice_and_one>(s, grid(1, 32), y);
    });
    graph.launch(s);
    CHECK(to_host(s, y) == std::vector<int>(32, 1023));
}

CUDA_TEST_CASE(
    "a grid with options uses its own shared memory, beyond 48 KB too, in graphs as well") {
    const Stream s(Device("cuda:0"));
    Array<int> out = zeros<int>(s, 1);
    constexpr int n = 20'000;
    launch(s, shared_sum, grid(1, 128, n * sizeof(int)).with({.priority = -1}), out, n);
    CHECK(to_host(s, out)[0] == n);
    fill(s, out, 0);
    Graph graph = capture(s, [&] {
        launch(s, shared_sum, grid(1, 128, n * sizeof(int)).with({.priority = -1}), out, n);
    });
    graph.launch(s);
    CHECK(to_host(s, out)[0] == n);
}
