// CUDA graphs with copies and fills that need staging or the host. Also changes of graphs that need
// a new executable.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <numeric>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

struct Element {
    int words[25];  // 100 bytes
    bool operator==(const Element&) const = default;
};
Element element(int first) {
    Element made{};
    std::iota(std::begin(made.words), std::end(made.words), first);
    return made;
}

Array<int> on_cpu(std::size_t n, int value) {
    const StreamRef s = default_stream(cpu_device());
    Array<int> made = ready_full<int>(s, n, value);
    return made;
}

}  // namespace

CUDA_TEST_CASE("a capture copies between a GPU and memory of a CPU device") {
    const Stream s(gpu());
    constexpr std::size_t n = 5'000'000;  // its copy has more than one part
    Array<int> there = on_cpu(n, 1), back = on_cpu(n, 0), x = zeros<int>(s, n);
    s.synchronize();
    Graph graph = capture(s, [&] {
        copy(s, x, there);
        launch(s, Add{}, dim(n), x, 2);
        copy(s, back, x);
    });
    graph.launch(s);
    s.synchronize();
    CHECK(Ints(back.begin(), back.end()) == Ints(n, 3));
    std::fill(there.begin(), there.end(), 5);  // every launch reads `there`
    graph.launch(s);
    s.synchronize();
    CHECK(Ints(back.begin(), back.end()) == Ints(n, 7));
}

CUDA_TEST_CASE("a capture copies rectangles of memory of a CPU device") {
    const Stream s(gpu());
    Array<int> there = on_cpu(200, 4), back = on_cpu(200, 0), x = zeros<int>(s, 100);
    s.synchronize();
    Graph graph = capture(s, [&] {
        copy_2d(s, View2D<int>(x.view(), 10, 5, 10), View2D<int>(there.view(), 10, 5, 20));
        copy_2d(s, View2D<int>(back.view(), 10, 7, 20), View2D<int>(x.view(), 10, 7, 10));
        copy(s, there.view().first(100), back.view().subview(100, 100));
    });
    graph.launch(s);
    s.synchronize();
    Ints expected(200, 0);
    for (std::size_t r = 0; r < 10; ++r)
        std::fill_n(expected.begin() + static_cast<long>(20 * r), 5, 4);
    CHECK(Ints(back.begin(), back.end()) == expected);
    CHECK(std::equal(there.begin(), there.begin() + 100, expected.begin() + 100));
}

CUDA_TEST_CASE("a capture on a GPU's stream fills memory of a CPU device") {
    const Stream s(gpu());
    Array<int> there = on_cpu(100, 0);
    Graph graph = capture(s, [&] { fill(s, there, 6); });
    CHECK(there.view()[0] == 0);
    graph.launch(s);
    s.synchronize();
    CHECK(Ints(there.begin(), there.end()) == Ints(100, 6));
}

CUDA_TEST_CASE(
    "graphs fill with elements that are too large to travel with a launch, and change them") {
    const Stream s(gpu());
    Array<Element> x = full<Element>(s, 50, element(0)), y = full<Element>(s, 7, element(0));
    Array<Element> staging = pinned<Element>(3);
    s.synchronize();
    auto set = fill_node(x, element(1));
    auto also = fill_node(staging, element(2)).after(set);
    Graph graph = also.build();
    graph.launch(s);
    CHECK(to_host(s, x) == std::vector<Element>(50, element(1)));
    CHECK(std::vector<Element>(staging.begin(), staging.end()) ==
          std::vector<Element>(3, element(2)));
    set.with(x, element(3));
    graph.launch(s);
    CHECK(to_host(s, x) == std::vector<Element>(50, element(3)));
    set.with(y.view().subview(1, 5), element(4));
    graph.launch(s);
    std::vector<Element> expected(7, element(4));
    expected.front() = expected.back() = element(0);
    CHECK(to_host(s, y) == expected);
    set.disable();
    fill(s, y, element(0));
    graph.launch(s);
    CHECK(to_host(s, y) == std::vector<Element>(7, element(0)));
    set.enable();
    graph.launch(s);
    CHECK(to_host(s, y) == expected);
}

CUDA_TEST_CASE("a batch fills with large elements, and with others the next time") {
    const Stream s(gpu());
    const ScopedStream in(s);
    Array<Element> x = full<Element>(20, element(0));
    Batch batch;
    for (int i = 1; i <= 4; ++i) {
        batch.run([&] { fill(x, element(i)); });
        CHECK(to_host(x) == std::vector<Element>(20, element(i)));
    }
}

CUDA_TEST_CASE("a copy of a rectangle is changed to another shape") {
    const Stream s(gpu());
    Array<int> x = full<int>(s, 400, 1), y = zeros<int>(s, 400);
    s.synchronize();
    const auto made = [&](std::size_t high, std::size_t wide) {
        return copy_2d_node(View2D<int>(y.view(), high, wide, 20),
                            View2D<int>(x.view(), high, wide, 20))
            .build();
    };
    Graph graph = made(10, 5);
    graph.launch(s);
    for (const std::size_t wide : {3, 20, 7}) {
        fill_zero(s, y);
        graph.update(made(15, wide));
        graph.launch(s);
        Ints expected(400, 0);
        for (std::size_t r = 0; r < 15; ++r)
            std::fill_n(expected.begin() + static_cast<long>(20 * r), wide, 1);
        CHECK(to_host(s, y) == expected);
    }
}

CUDA_TEST_CASE("a graph that was made anew waits for its launches on a stream that is gone") {
    const Drained drained;
    const Stream s(gpu());
    Array<Element> x = ready_full<Element>(s, 50, element(0));
    auto set = fill_node(x, element(1));
    Graph graph = set.build();
    Gate gate;
    {
        const Stream gone(gpu());
        gate.hold(gone);
        graph.launch(gone);
    }
    set.with(x, element(2));
    graph.launch(s);
    finish_work(gpu());
    CHECK_FALSE(s.is_complete());
    gate.open();
    CHECK(to_host(s, x) == std::vector<Element>(50, element(2)));
}

CUDA_TEST_CASE(
    "host functions of a graph that was launched into a capture of others run at every replay") {
    const OrderLog seen;
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 100);
    auto add = kernel_node(gpu(), Add{}, dim(100), x, 1);
    auto note = host_node(gpu(), [seen] { seen.add("first"); }).after(add);
    Graph graph = note.build();
    graph.launch(s);
    s.synchronize();
    const cudaStream_t native = native_handle(s);
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t exec = nullptr;
    check_cuda(cudaStreamBeginCapture(native, cudaStreamCaptureModeRelaxed),
               "cudaStreamBeginCapture");
    graph.launch(s);
    launch(s, Add{}, dim(100), x, 10);
    check_cuda(cudaStreamEndCapture(native, &captured), "cudaStreamEndCapture");
    check_cuda(cudaGraphInstantiate(&exec, captured, 0), "cudaGraphInstantiate");
    note.call([seen] { seen.add("second"); });
    for (int i = 0; i < 3; ++i) check_cuda(cudaGraphLaunch(exec, native), "cudaGraphLaunch");
    graph.launch(s);
    check_cuda(cudaGraphDestroy(captured), "cudaGraphDestroy");
    check_cuda(cudaGraphLaunch(exec, native), "cudaGraphLaunch");
    s.synchronize();
    check_cuda(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    CHECK(seen.seen() == Strings{"first", "first", "first", "first", "second", "first"});
    CHECK(to_host(s, x) == Ints(100, 1 + 3 * 11 + 1 + 11));
}

TEST_CASE("a capture copies on a named stream of another GPU than the memory's", "[cuda][multi]") {
    if (device_count(DeviceKind::cuda) < 2) HEDDLE_SKIP("needs two devices");
    const Device a("cuda:0"), b("cuda:1");
    const Stream on_a(a), on_b(b);
    Array<int> x = full<int>(on_b, 1000, 3), y = zeros<int>(on_b, 1000), z = zeros<int>(on_b, 1000);
    Array<int> up = pinned<int>(1000), down = pinned<int>(1000);
    std::fill(up.begin(), up.end(), 8);
    std::fill(down.begin(), down.end(), 0);
    synchronize();
    Graph graph = capture(on_a, [&] {
        copy(on_a, y, x);
        copy(on_a, z, up);
        copy_2d(on_a, View2D<int>(z.view(), 10, 5, 100), View2D<int>(x.view(), 10, 5, 100));
        copy(on_a, down, y);
    });
    graph.launch(on_a);
    on_a.synchronize();
    CHECK(to_host(y) == Ints(1000, 3));
    CHECK(Ints(down.begin(), down.end()) == Ints(1000, 3));
    Ints expected(1000, 8);
    for (std::size_t r = 0; r < 10; ++r)
        std::fill_n(expected.begin() + static_cast<long>(100 * r), 5, 3);
    CHECK(to_host(z) == expected);
}
