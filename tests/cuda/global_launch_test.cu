// Launches of __global__ functions.
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <barrier>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace heddle_test;

namespace {

__global__ void write_indices(int* out, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = i;
}

__global__ void scale(const float* in, float* out, float factor, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor;
}

__global__ void take_view(View<const int> in, View<int> out) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < in.size()) out[i] = in[i] + 1;
}

/// A class with views that it does not declare.
struct FromTo {
    View<const int> from;
    View<int> to;
};
__global__ void add_held(FromTo v) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < v.from.size()) v.to[i] += v.from[i];
}

__global__ void reverse_in_shared(int* data) {
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

/// A kernel for each number: the limit on shared memory is raised only once for each kernel.
template <int> __global__ void last_of_shared(int* out, int count) {
    extern __shared__ int scratch[];
    scratch[count - 1] = count;
    *out = scratch[count - 1];
}

__global__ void write_shape(unsigned* out) {
    if (threadIdx.x + threadIdx.y + threadIdx.z != 0 || blockIdx.x + blockIdx.y + blockIdx.z != 0)
        return;
    out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
    out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
}

__global__ void no_arguments() {}

Device gpu() { return Device("cuda:0"); }

}  // namespace

CUDA_TEST_CASE("a __global__ function runs with the grid and block asked for") {
    const Stream s(gpu());
    Array<unsigned> shape = zeros<unsigned>(s, 6);
    launch(s, write_shape, grid(dim3(2, 3, 4), dim3(8, 4, 2)), shape);
    CHECK(to_host(s, shape) == std::vector<unsigned>{2, 3, 4, 8, 4, 2});
}

CUDA_TEST_CASE("an array stands where a __global__ function takes a pointer") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 1000);
    launch(s, write_indices, grid(4, 256), x, 1000);
    CHECK(to_host(s, x)[999] == 999);
    launch(s, write_indices, grid(1, 32), x.view().subview(100, 10), 10);
    CHECK(to_host(s, x)[100] == 0);
    CHECK(to_host(s, x)[109] == 9);
    CHECK(to_host(s, x)[110] == 110);
}

CUDA_TEST_CASE("arguments are converted to what the __global__ function declares") {
    const Stream s(gpu());
    Array<float> in = full<float>(s, 100, 2.0f), out = zeros<float>(s, 100);
    launch(s, scale, grid(1, 128), in, out, 3, 100);  // ints are passed for float and std::size_t
    CHECK(to_host(s, out) == std::vector<float>(100, 6.0f));
}

CUDA_TEST_CASE("a __global__ function may take views and use shared memory") {
    const Stream s(gpu());
    Array<int> x = from_host(s, std::vector<int>{1, 2, 3, 4}), y = zeros<int>(s, 4);
    launch(s, take_view, grid(1, 32), x, y);
    launch(s, reverse_in_shared, grid(1, 4, 4 * sizeof(int)), y);
    CHECK(to_host(s, y) == std::vector<int>{5, 4, 3, 2});
    launch(s, no_arguments, grid(1, 1));
    s.synchronize();
}

CUDA_TEST_CASE("without a stream a __global__ function runs on the current stream") {
    DrainedGate gate;
    const Stream s(gpu());
    Array<int> x = ready_zeros<int>(s, 10);
    const ScopedStream in{s};
    gate.hold(s);
    launch(write_indices, grid(1, 32), x, 10);
    CHECK_FALSE(s.is_complete());
    gate.open();
    CHECK(to_host(s, x)[9] == 9);
}

CUDA_TEST_CASE("impossible grids and blocks are usage errors before the launch") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10);
    const auto code_of = [&](const LaunchGrid& g) {
        const auto error = error_of([&] { launch(s, write_indices, g, x, 10); });
        return error ? error->code() : ErrorCode::native;
    };
    CHECK(code_of(grid(1, 1025)) == ErrorCode::usage);
    CHECK(code_of(grid(dim3(1), dim3(32, 32, 2))) == ErrorCode::usage);
    CHECK(code_of(grid(dim3(1), dim3(1, 1, 65))) == ErrorCode::usage);
    CHECK(code_of(grid(0, 32)) == ErrorCode::usage);
    CHECK(code_of(grid(1, 0)) == ErrorCode::usage);
    CHECK(code_of(grid(dim3(1, 65536), dim3(1))) == ErrorCode::usage);
    CHECK(code_of(grid(1, 32, std::size_t{1} << 30)) == ErrorCode::usage);
    launch(s, write_indices, grid(1, 32), x, 10);  // the stream can still be used
    CHECK(to_host(s, x)[9] == 9);
}

CUDA_TEST_CASE("memory out of reach and arrays that are gone are refused") {
    const Stream s(gpu()), cpu(cpu_device());
    Array<int> here = zeros<int>(cpu, 10);
    CHECK_THROWS_AS(launch(s, write_indices, grid(1, 32), here, 10), UsageError);
    View<int> left;
    {
        Array<int> x = zeros<int>(s, 10);
        left = x;
    }
    CHECK_THROWS_AS(launch(s, write_indices, grid(1, 32), left, 10), UsageError);
    s.synchronize();
}

CUDA_TEST_CASE("an array that a __global__ function uses is freed after it") {
    const Drained drained;
    const Stream home(gpu()), user(gpu());
    Array<float> result = zeros<float>(user, 10'000);
    Gate gate;
    {
        Array<float> x = full<float>(home, 10'000, 2.0f);
        user.wait_stream(home);
        user.synchronize();
        gate.hold(user);
        launch(user, scale, grid(40, 256), x, result, 3.0f, 10'000);
    }
    for (int i = 0; i < 4; ++i) {
        const Array<float> again = ready_full<float>(home, 10'000, -1.0f);
    }
    gate.open();
    CHECK(to_host(user, result) == std::vector<float>(10'000, 6.0f));
}

CUDA_TEST_CASE("a launch of a __global__ function is described and counted") {
    struct Watch final : Observer {
        std::string name;
        unsigned line = 0;
        std::vector<OpAccess> accesses;
        Watch() { add_observer(*this); }
        ~Watch() { remove_observer(*this); }
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind != OpKind::launch) return;
            name = op.name;
            line = op.where.line;
            accesses.assign(op.accesses.begin(), op.accesses.end());
        }
    };
    const Stream s(gpu());
    Array<float> in = full<float>(s, 100, 2.0f), out = zeros<float>(s, 100);
    const OpCounter counted;
    Watch watch;
    const unsigned line = __LINE__ + 1;
    launch(s, scale, grid(1, 128), in, out, 3.0f, 100);
    CHECK(counted.stats().launches == 1);
    CHECK_THAT(watch.name, contains("scale"));
    CHECK(watch.line == line);
    REQUIRE(watch.accesses.size() >= 2);
    CHECK_FALSE(watch.accesses[0].writes());  // the kernel's parameter is const float*
    CHECK(watch.accesses[1].writes());
    s.synchronize();
}

namespace heddle_test {
struct CountBytes {
    HEDDLE_FN void operator()(std::size_t i, View<std::uint8_t> y) const {
        if (i < y.size()) ++y[i];
    }
};
struct CountRows {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View<std::uint8_t> out) const {
        if (x + y < out.size()) ++out[x + y];
    }
};
}  // namespace heddle_test

CUDA_TEST_CASE("an extent that no grid can hold is refused, not cut short") {
    const Stream s(gpu());
    Array<std::uint8_t> x = zeros<std::uint8_t>(s, 10);
    CHECK_THROWS_AS(launch(s, CountBytes{}, dim((std::size_t{1} << 40) + 1), x), UsageError);
    CHECK_THROWS_AS(launch(s, CountRows{}, dim((std::size_t{1} << 37) + 1, 1), x), UsageError);
    CHECK(to_host(s, x)[0] == 0);
    CHECK_FALSE(s.is_poisoned());
}

CUDA_TEST_CASE(
    "threads that launch one kernel with different amounts of shared memory get them all") {
    const Device device = test_devices()[0].is_cuda() ? test_devices()[0] : Device("cuda");
    using Kernel = void (*)(int*, int);
    const auto kernels = []<int... numbers>(std::integer_sequence<int, numbers...>) {
        return std::vector<Kernel>{&last_of_shared<numbers>...};
    }(std::make_integer_sequence<int, 16>());
    constexpr int sizes[] = {60 * 1024, 70 * 1024, 80 * 1024, 90 * 1024};  // all are above 48 KB
    Array<int> out = pinned<int>(kernels.size() * std::size(sizes));
    std::barrier together(static_cast<std::ptrdiff_t>(std::size(sizes)));
    std::vector<std::string> errors(std::size(sizes));
    on_threads(std::size(sizes), [&](std::size_t t) {
        const Stream s(device);
        for (std::size_t k = 0; k < kernels.size(); ++k) {
            together.arrive_and_wait();
            try {
                for (int again = 0; again < 3; ++again)
                    launch(s, kernels[k], grid(1, 1, static_cast<std::size_t>(sizes[t])),
                           out.data() + k * std::size(sizes) + t,
                           sizes[t] / static_cast<int>(sizeof(int)));
            } catch (const Error& error) {
                errors[t] += error.what();
            }
        }
        s.synchronize();
    });
    for (const std::string& error : errors) CHECK(error == "");
    for (std::size_t i = 0; i < out.size(); ++i)
        CHECK(out[i] == sizes[i % std::size(sizes)] / static_cast<int>(sizeof(int)));
}

CUDA_TEST_CASE("the views in a class that a __global__ function takes count as arguments") {
    const Stream s(gpu()), other(gpu());
    Array<int> sum = zeros<int>(other, 1000);
    Array<int> x = ready_full<int>(other, 1000, 5);
    auto node = kernel_node(gpu(), add_held, grid(4, 256), FromTo{x, sum});
    Graph graph = node.build();
    Gate gate(s);
    if (GENERATE(true, false)) launch(s, add_held, grid(4, 256), FromTo{x, sum});
    else graph.launch(s);
    const FromTo gone{x, sum};
    x.reset();
    std::vector<Array<int>> others;  // if the memory were free, these would reuse it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, 1000, 100));
    gate.open();
    CHECK(to_host(s, sum) == Ints(1000, 5));
    CHECK_THROWS_AS(launch(s, add_held, grid(4, 256), gone), UsageError);
    CHECK_THROWS_AS(graph.launch(s), UsageError);
    other.synchronize();
}
