// Checks of indices in kernels on GPUs: __global__ functions, kernels launched outside heddle, and
// bodies of conditional nodes. Also tests how the host reads the reports. Other cases are in
// launch/bounds_test.cpp.
#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 1
#include "../support.hpp"

#include <heddle/cuda.hpp>
#include <heddle/memory/bounds.hpp>

#include <string>

using namespace heddle_test;

namespace heddle_test {

struct GpuWriteAt {
    HEDDLE_FN void operator()(std::size_t i, View<int> to, std::size_t distance) const {
        to[i + distance] = 1;
    }
};
/// Writes beyond the end of `wrong`, and ends a loop.
struct WriteAndStop {
    HEDDLE_FN void operator()(std::size_t, View<int> wrong, View<int> goes_on) const {
        wrong[wrong.size()] = 1;
        goes_on[0] = 0;
    }
};

}  // namespace heddle_test

namespace {

Device gpu() { return Device("cuda:0"); }
constexpr std::size_t n = 1000;

__global__ void global_write(View<int> other, View<int> to, std::size_t distance) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < to.size()) to[i + distance] = static_cast<int>(i);
    if (i == 0) other[0] = 1;
}
__global__ void grid_id(unsigned long long* to) {
    unsigned long long id = 0;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(id));
    if (threadIdx.x == 0) *to = id;
}

/// Returns the text of the failure of f(). Returns "" if it does not fail.
template <class F> std::string text_of(const F& f) {
    try {
        f();
    } catch (const WorkFailed& failed) {
        return failed.what();
    }
    return "";
}
std::string failure_text(StreamRef s) {
    std::string text = text_of([&] { s.synchronize(); });
    s.clear_error();
    return text;
}
bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

CUDA_TEST_CASE("bounds on a GPU: a __global__ function is named, with its argument") {
    const Stream s(gpu(), {.name = "guilty"}), bystander(gpu());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, n);
    const unsigned line = __LINE__ + 1;
    launch(s, global_write, grid(8, 128), x, y, std::size_t{1});
    const std::string text = failure_text(s);
    INFO(text);
    CHECK(has(text, "global_write"));
    CHECK(has(text, "index 1000 of a view of 1000 elements (argument 2)"));
    CHECK(has(text, "guilty"));
    CHECK(has(text, "bounds_test.cu:" + std::to_string(line)));
    CHECK(failure_text(bystander).empty());
    CHECK(to_host(s, y)[n - 1] == static_cast<int>(n) - 2);
}

CUDA_TEST_CASE("bounds on a GPU: a kernel launched outside heddle fails the next synchronisation") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, n);
    s.synchronize();
    SECTION("on one of heddle's streams") {
        global_write<<<8, 128, 0, native_handle(s)>>>(x.view(), y.view(), 1);
        REQUIRE(cudaGetLastError() == cudaSuccess);
        const std::string text = failure_text(s);
        INFO(text);
        CHECK(has(text, "a __global__ function used index 1000 of a view of 1000 elements"));
    }
    SECTION("on a stream that heddle does not know") {
        cudaStream_t own = nullptr;
        REQUIRE(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) == cudaSuccess);
        global_write<<<8, 128, 0, own>>>(x.view(), y.view(), 1);
        REQUIRE(cudaGetLastError() == cudaSuccess);
        const std::string text = text_of([] { synchronize_device(gpu()); });
        INFO(text);
        CHECK(has(text, "index 1000 of a view of 1000 elements"));
        CHECK(text_of([] { synchronize_device(gpu()); }).empty());
        CHECK(cudaStreamDestroy(own) == cudaSuccess);
    }
}

CUDA_TEST_CASE("bounds on a GPU: a kernel outside heddle is not taken for one that ran before it") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, n);
    for (int i = 0; i < 100; ++i) {
        launch(s, GpuWriteAt{}, dim(n), y, 0u);  // leaves its site and check word in shared memory
        global_write<<<8, 128, 0, native_handle(s)>>>(x.view(), y.view(), 1);
        const std::string text = failure_text(s);
        INFO(text);
        REQUIRE(has(text, "a __global__ function used index 1000"));
    }
}

CUDA_TEST_CASE("bounds on a GPU: the number of the grid differs between launches", "[.gridid]") {
    const Stream s(gpu());
    Array<unsigned long long> ids = zeros<unsigned long long>(s, 6);
    for (int i = 0; i < 2; ++i) launch(s, grid_id, grid(1, 32), ids.data() + i);
    Graph graph = capture(s, [&] {
        for (int i = 2; i < 4; ++i) launch(s, grid_id, grid(1, 32), ids.data() + i);
    });
    graph.launch(s);
    launch(s, grid_id, grid(1, 32), ids.data() + 4);
    const auto all = to_host(s, ids);
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < i; ++j) CHECK(all[i] != all[j]);
    WARN("ids: " << all[0] << ", " << all[1] << "; in a graph " << all[2] << ", " << all[3]
                 << "; after it " << all[4]);
}

CUDA_TEST_CASE("bounds on a GPU: two streams that fail at the same time are both named") {
    const Stream a(gpu(), {.name = "a"}), b(gpu(), {.name = "b"});
    Array<int> x = zeros<int>(a, 10), y = zeros<int>(b, 20);
    launch(a, GpuWriteAt{}, dim(10), x, 1u);
    launch(b, GpuWriteAt{}, dim(20), y, 1u);
    const std::string of_a = failure_text(a), of_b = failure_text(b);
    CHECK(has(of_a, "index 10 of a view of 10 elements (argument 1)"));
    CHECK(has(of_b, "index 20 of a view of 20 elements (argument 1)"));
}

CUDA_TEST_CASE("bounds on a GPU: the device is not lost, and no native error is left") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10);
    launch(s, GpuWriteAt{}, dim(10), x, std::size_t{1} << 40);
    CHECK(!failure_text(s).empty());
    CHECK(cudaGetLastError() == cudaSuccess);
    launch(s, GpuWriteAt{}, dim(10), x, 0u);
    CHECK(to_host(s, x) == Ints(10, 1));
}

CUDA_TEST_CASE("bounds on a GPU: queries, events and waits of CPU streams find the failure") {
    const Stream s(gpu()), other(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    SECTION("is_complete()") {
        launch(s, GpuWriteAt{}, dim(10), x, 1u);
        CHECK(!text_of([&] {
                   while (!s.is_complete()) {}
               }).empty());
    }
    SECTION("an event") {
        launch(s, GpuWriteAt{}, dim(10), x, 1u);
        const Event done = s.record_event();
        CHECK(!text_of([&] { done.synchronize(); }).empty());
    }
    SECTION("an event before the kernel succeeds") {
        launch(s, GpuWriteAt{}, dim(10), x, 0u);
        const Event before = s.record_event();
        s.synchronize();
        launch(s, GpuWriteAt{}, dim(10), x, 1u);
        CHECK(!text_of([&] { s.synchronize(); }).empty());
        CHECK(text_of([&] { before.synchronize(); }).empty());
    }
    SECTION("a CPU stream that waits") {
        launch(s, GpuWriteAt{}, dim(10), x, 1u);
        other.wait_stream(s);
        bool ran = false;
        launch_host(other, [&] { ran = true; });
        CHECK(!text_of([&] { other.synchronize(); }).empty());
        CHECK(!ran);
        other.clear_error();
    }
    s.clear_error();
}

CUDA_TEST_CASE("bounds on a GPU: a stream that is destroyed passes its failure on") {
    const Reports reports;
    Array<int> x = zeros<int>(Stream::per_thread(gpu()), 10);
    Stream::per_thread(gpu()).synchronize();
    {
        const Stream s(gpu());
        launch(s, GpuWriteAt{}, dim(10), x, 1u);
    }
    for (int i = 0; i < 100 && reports.count() == 0; ++i)
        (void)text_of([] { synchronize_device(gpu()); });
    REQUIRE(reports.count() == 1);
    CHECK(has(reports.all()[0].what(), "index 10 of a view of 10 elements"));
}

CUDA_TEST_CASE("bounds on a GPU: a node in the body of a condition is named") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10), left = full<int>(s, 1, 1);
    auto step = kernel_node(gpu(), WriteAndStop{}, dim(1), x, left).name("step");
    Graph loop = while_node(left, step.build()).build();
    loop.launch(s);
    const std::string text = failure_text(s);
    INFO(text);
    CHECK(has(text, "node 'step', "));
    CHECK(has(text, "index 10 of a view of 10 elements (argument 1)"));
}

CUDA_TEST_CASE("bounds on a GPU: a graph of which one launch was wrong works again") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10);
    auto node = kernel_node(gpu(), GpuWriteAt{}, dim(10), x, 1u).name("wrong");
    Graph graph = node.build();
    for (int round = 0; round < 3; ++round) {
        node.args(x, 1u);
        graph.launch(s);
        CHECK(has(failure_text(s), "node 'wrong'"));
        node.args(x, 0u);
        graph.launch(s);
        CHECK(failure_text(s).empty());
    }
    CHECK(to_host(s, x) == Ints(10, 1));
}

CUDA_TEST_CASE("bounds on a GPU: __global__ functions as nodes are named") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, n);
    const ScopedDevice on(gpu());
    auto node = kernel_node(global_write, grid(8, 128), x, y, std::size_t{1}).name("global");
    Graph graph = node.build();
    graph.launch(s);
    const std::string text = failure_text(s);
    INFO(text);
    CHECK(has(text, "node 'global', "));
    CHECK(has(text, "(argument 2)"));
}

CUDA_TEST_CASE("bounds on a GPU: a program that launches many different kernels") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 20'000);
    for (std::size_t i = 0; i < 10'000; ++i)
        launch(s, GpuWriteAt{}, dim(1), x.view().subview(i, 1), i == 9'999 ? 1u : 0u);
    const std::string text = failure_text(s);
    CHECK(has(text, "index 1 of a view of 1 elements (argument 1)"));
}
