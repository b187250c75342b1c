// Mdspans and spans of CCCL as parameters of __global__ functions.
#include "cuda/mdspans.cuh"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

__global__ void add_spans(cuda::std::span<const int> x, cuda::std::span<int> y) {
    if (threadIdx.x < y.size()) y[threadIdx.x] += x[threadIdx.x];
}
__global__ void add_matrices(ConstMatrix x, Matrix y) {
    if (threadIdx.x < y.extent(1)) y(0, threadIdx.x) += x(0, threadIdx.x);
}

struct OnGpu {
    Stream s{Device("cuda:0")};
    Array<int> x = full<int>(s, 12, 5), y = zeros<int>(s, 12);
};

}  // namespace

CUDA_TEST_CASE("mdspans: __global__ functions take spans") {
    OnGpu f;
    Watch watch;
    launch(f.s, add_spans, grid(1, 32), f.x, f.y);
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    check_access(seen.accesses[0], f.x, 0, 12, AccessMode::read, 0);
    check_access(seen.accesses[1], f.y, 0, 12, AccessMode::read_write, 1);
    const std::span<int> first(f.y.view().data(), 4);
    launch(f.s, add_spans, grid(1, 32), f.x.last(4), first);
    check_access(watch.take_only(OpKind::launch).accesses.at(1), f.y, 0, 4, AccessMode::read_write,
                 1);
    CHECK(to_host(f.s, f.y) == Ints{10, 10, 10, 10, 5, 5, 5, 5, 5, 5, 5, 5});
}

CUDA_TEST_CASE("mdspans: __global__ functions take mdspans, in graphs too") {
    OnGpu f;
    Watch watch;
    launch(f.s, add_matrices, grid(1, 32), spanning<ConstMatrix>(f.x, 3, 4),
           spanning<Matrix>(f.y, 3, 4));
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    check_access(seen.accesses[0], f.x, 0, 12, AccessMode::read, 0);
    check_access(seen.accesses[1], f.y, 0, 12, AccessMode::read_write, 1);
    auto node = kernel_node(f.s.device(), add_matrices, grid(1, 32),
                            spanning<ConstMatrix>(f.x, 3, 4), spanning<Matrix>(f.y, 3, 4));
    Graph graph = node.build();
    graph.launch(f.s);
    node.args(spanning<Matrix>(f.x, 1, 2).mdspan(), spanning<Matrix>(f.y.last(4), 1, 2));
    graph.launch(f.s);
    CHECK(to_host(f.s, f.y) == Ints{10, 10, 10, 10, 0, 0, 0, 0, 5, 5, 0, 0});
}

CUDA_TEST_CASE("mdspans: an array is freed after a __global__ function that uses it") {
    OnGpu f;
    DrainedGate gate(f.s);
    launch(f.s, add_spans, grid(1, 32), f.x, f.y);
    f.x.reset();
    const Stream other(f.s.device());
    std::vector<Array<int>> others;  // if the memory were free, these would get it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, 12, 1000));
    other.synchronize();
    gate.open();
    CHECK(to_host(f.s, f.y) == Ints(12, 5));
}
