// Graphs with nodes on two GPUs: the streams on which the graphs are launched, and the GPU on which
// a condition runs.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

#define SKIP_WITHOUT_TWO_GPUS()                                                                    \
    if (device_count(DeviceKind::cuda) < 2) HEDDLE_SKIP("needs two GPUs")

/// value -= 1
struct CountDown {
    HEDDLE_FN void operator()(std::size_t, View<int> value) const { value[0] -= 1; }
};

/// For each of the first two GPUs: an array of ten ints, and a stream.
struct TwoGpus {
    Device a{"cuda:0"}, b{"cuda:1"};
    Stream on_a{a}, on_b{b};
    Array<int> x = zeros<int>(on_a, 10), y = zeros<int>(on_b, 10);
    TwoGpus() {
        on_a.synchronize();
        on_b.synchronize();
    }
};

}  // namespace

TEST_CASE("a graph of two GPUs is launched on streams of both, in turn", "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    int ran = 0;
    Event event(two.b);
    auto first = kernel_node(two.a, Add{}, dim(10), two.x, 1);
    auto doubled = kernel_node(two.b, Multiply{}, dim(10), two.y, 2).after(first);
    auto added = kernel_node(two.b, Add{}, dim(10), two.y, 1).after(doubled);
    auto counted = host_node(two.a, [&] { ++ran; }).after(added);
    auto recorded = record_node(event).after(counted);
    Graph graph = recorded.build();
    CHECK(graph.device() == two.a);
    graph.upload(two.on_b);
    int expected = 0;
    for (int i = 0; i < 20; ++i) {
        graph.launch(i % 3 == 0 ? two.on_b : two.on_a);
        expected = 2 * expected + 1;
    }
    two.on_a.wait_event(event);
    CHECK(to_host(two.on_a, two.x) == Ints(10, 20));
    CHECK(to_host(two.on_b, two.y) == Ints(10, expected));
    CHECK(ran == 20);
}

TEST_CASE("work behind a launch on the graph's second GPU waits for all of it", "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    auto first = kernel_node(two.a, Add{}, dim(10), two.x, 1);
    auto second = kernel_node(two.b, Add{}, dim(10), two.y, 1);
    Graph graph = build({first, second});
    Gate gate(two.on_b);
    graph.launch(two.on_b);
    two.on_a.wait_stream(two.on_b);
    Array<int> seen = zeros<int>(two.on_a, 10);
    launch(two.on_a, CopyKernel{}, dim(10), two.x, seen);
    CHECK_FALSE(two.on_a.is_complete());
    gate.open();
    CHECK(to_host(two.on_a, seen) == Ints(10, 1));
    CHECK(to_host(two.on_b, two.y) == Ints(10, 1));
}

TEST_CASE("a changed graph of two GPUs is ordered after its last launch on the other",
          "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    auto first = kernel_node(two.a, Add{}, dim(10), two.x, 1);
    auto filled = fill_node(two.y, 5).after(first);
    auto second = kernel_node(two.b, Add{}, dim(10), two.y, 1).after(filled);
    Graph graph = second.build();
    graph.launch(two.on_b);
    filled.enable(false);  // needs a new executable
    graph.launch(two.on_a);
    graph.launch(two.on_b);
    CHECK(to_host(two.on_b, two.y) == Ints(10, 8));
}

TEST_CASE("a graph is refused on a GPU that none of its nodes is on", "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    Graph graph = kernel_node(two.a, Add{}, dim(10), two.x, 1).build();
    CHECK(mentions(error_of([&] { graph.launch(two.on_b); }),
                   "this graph runs on cuda:0: launch it on a stream of that device"));
    Graph more = kernel_node(two.b, Add{}, dim(10), two.y, 1).build();
    const Stream cpu(cpu_device());
    Graph both = build({kernel_node(two.a, Add{}, dim(10), two.x, 1),
                        kernel_node(two.b, Add{}, dim(10), two.y, 1)});
    CHECK(mentions(error_of([&] { both.launch(cpu); }),
                   "this graph runs on cuda:0 and cuda:1: launch it on a stream of one of these"));
}

TEST_CASE("conditional nodes decide on any GPU of their graph", "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    Array<int> left_a = zeros<int>(two.on_a, 1), left_b = zeros<int>(two.on_b, 1);
    two.on_a.synchronize();
    two.on_b.synchronize();
    const auto loop = [](Device on, Array<int>& data, Array<int>& left) {
        auto step = kernel_node(on, Add{}, dim(10), data, 1);
        return while_node(left, kernel_node(on, CountDown{}, dim(1), left).after(step).build());
    };
    auto set_b = kernel_node(two.b, Add{}, dim(1), left_b, 3);
    auto loop_b = loop(two.b, two.y, left_b).after(set_b);
    auto set_a = kernel_node(two.a, Add{}, dim(1), left_a, 2).after(loop_b);
    auto loop_a = loop(two.a, two.x, left_a).after(set_a);
    auto if_b = if_else_node(left_b, kernel_node(two.b, Add{}, dim(10), two.y, 1000).build(),
                             kernel_node(two.b, Add{}, dim(10), two.y, 10).build())
                    .after(loop_a);
    Graph graph = if_b.build();
    for (int i = 0; i < 4; ++i) graph.launch(i % 2 == 0 ? two.on_a : two.on_b);
    two.on_a.wait_stream(two.on_b);
    CHECK(to_host(two.on_a, two.x) == Ints(10, 8));
    CHECK(to_host(two.on_b, two.y) == Ints(10, 52));
}

TEST_CASE("a captured condition is on the stream's GPU, whichever began the capture",
          "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    Array<int> left = ready_zeros<int>(two.on_b, 1);
    Graph graph = capture(two.on_a, [&] {
        launch(two.on_a, Add{}, dim(10), two.x, 1);
        two.on_b.wait_stream(two.on_a);
        fill(two.on_b, left, 3);
        capture_while(two.on_b, left, [&] {
            launch(two.on_b, Add{}, dim(10), two.y, 1);
            launch(two.on_b, CountDown{}, dim(1), left);
        });
        two.on_a.wait_stream(two.on_b);
    });
    graph.launch(two.on_a);
    graph.launch(two.on_b);
    two.on_a.wait_stream(two.on_b);
    CHECK(to_host(two.on_a, two.x) == Ints(10, 2));
    CHECK(to_host(two.on_b, two.y) == Ints(10, 6));
}

TEST_CASE("a body on another GPU than its condition is refused by name", "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    TwoGpus two;
    Array<int> left = zeros<int>(two.on_a, 1);
    auto decide = if_node(left, kernel_node(two.b, Add{}, dim(10), two.y, 1).build()).name("maybe");
    CHECK(mentions(error_of([&] { (void)decide.build(); }), "use one device for both"));
}
