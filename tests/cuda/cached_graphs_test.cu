// Executables that CUDA cannot destroy while other work runs, or that do not fit into the cache.
#include "../child.hpp"
#include "../kernels.hpp"
#include "../support.hpp"
#include "executables.hpp"

#include <heddle/cuda.hpp>

#include <atomic>
#include <thread>

using namespace heddle_test;

namespace {

#define SKIP_WITHOUT_TWO_GPUS()                                                                    \
    if (device_count(DeviceKind::cuda) < 2) HEDDLE_SKIP("needs two GPUs")

/// Destroys the executables that earlier tests have left, which would be counted otherwise.
void destroy_left_executables() {
    synchronize();
    for (const Device one : devices())
        if (one.is_cuda()) trim_pool(one);
}

/// value -= 1
struct CountDown {
    HEDDLE_FN void operator()(std::size_t, View<int> value) const { value[0] -= 1; }
};

/// Returns a graph of `kernels` kernels and a condition. The graph's shape depends on `kernels`.
Graph chain_and_condition(Device gpu, Array<int>& x, Array<int>& value, int kernels) {
    auto last = kernel_node(gpu, Add{}, dim(10), x, 1);
    for (int i = 1; i < kernels; ++i) last = kernel_node(gpu, Add{}, dim(10), x, 1).after(last);
    return if_node(value, kernel_node(gpu, Add{}, dim(10), x, 1000).build()).after(last).build();
}

}  // namespace

CUDA_TEST_CASE("a graph with conditions takes over the executable of one like it that is gone") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    destroy_left_executables();
    const CountedExecutables counted;
    for (int i = 0; i < 30; ++i) {
        Array<int> left = zeros<int>(s, 1), x = zeros<int>(s, 10 + i);
        int seen = 0;
        auto set = fill_node(left, i % 4);
        auto step = kernel_node(gpu, Add{}, dim(10 + i), x, i);
        auto count = kernel_node(gpu, CountDown{}, dim(1), left).after(step);
        auto loop = while_node(left, count.build()).after(set);
        auto host = host_node(gpu, [&seen, i] { seen = i; }).after(loop);
        auto last = kernel_node(gpu, Multiply{}, dim(10 + i), x, 2).after(host);
        Graph graph = last.build();
        graph.launch(s);
        CHECK(to_host(s, x) == Ints(static_cast<std::size_t>(10 + i), 2 * (i % 4) * i));
        CHECK(seen == i);
        last.args(x, 3);
        set.with(left, 1);
        graph.launch(s);
        CHECK(to_host(s, x) == Ints(static_cast<std::size_t>(10 + i), 3 * (2 * (i % 4) * i + i)));
        host.call([&seen] { seen = -1; });
        graph.launch(s);
        s.synchronize();
        CHECK(seen == -1);
    }
    CHECK(CountedExecutables::made() <= 1);
    CHECK(CountedExecutables::destroyed() == 0);
}

CUDA_TEST_CASE("a graph whose nodes were disabled is not taken over") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    for (int i = 0; i < 4; ++i) {
        Array<int> value = full<int>(s, 1, 1), x = zeros<int>(s, 10);
        auto first = kernel_node(gpu, Add{}, dim(10), x, 1);
        auto second = kernel_node(gpu, Add{}, dim(10), x, 10).after(first);
        auto third = kernel_node(gpu, Add{}, dim(10), x, 100).after(second);
        Graph graph =
            if_node(value, kernel_node(gpu, Add{}, dim(10), x, 1000).build()).after(third).build();
        graph.launch(s);
        CHECK(to_host(s, x) == Ints(10, 1111));
        second.enable(false);
        graph.launch(s);
        CHECK(to_host(s, x) == Ints(10, 2212));
    }
}

CUDA_TEST_CASE("no executable with conditions is destroyed while a GPU waits for a CPU stream") {
    const Device gpu("cuda:0");
    const Stream held(gpu), s(gpu), on_cpu(cpu_device());
    destroy_left_executables();
    const CountedExecutables counted;
    Array<int> value = zeros<int>(s, 1), x = zeros<int>(s, 10);
    s.synchronize();
    std::vector<Graph> graphs;
    int expected = 0;
    for (int i = 1; i <= 100; ++i) {
        graphs.push_back(chain_and_condition(gpu, x, value, i));
        graphs.back().launch(s);
        expected += i;
    }
    s.synchronize();
    Gate gate(on_cpu);
    held.wait_stream(on_cpu);
    graphs.clear();
    trim_pool(gpu);  // would block if it waited for the stream that is held
    CHECK(CountedExecutables::destroyed() == 0);
    CHECK(to_host(s, x) == Ints(10, expected));
    CHECK_FALSE(held.is_complete());
    gate.open();
    held.synchronize();
    CHECK(eventually([&] {
        trim_pool(gpu);
        return CountedExecutables::destroyed() >= 100;
    }));
}

CUDA_TEST_CASE("of executables with conditions that are gone a few dozen are kept") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    destroy_left_executables();
    const CountedExecutables counted;
    Array<int> value = zeros<int>(s, 1), x = zeros<int>(s, 10);
    for (int i = 1; i <= 200; ++i) {
        Graph graph = chain_and_condition(gpu, x, value, i);
        graph.launch(s);
        s.synchronize();
    }
    CHECK(eventually([] { return CountedExecutables::destroyed() >= 200 - 64; }));
}

TEST_CASE("graphs of two GPUs with host functions are refused where the driver has no room",
          "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    const Device a("cuda:0"), b("cuda:1");
    const Stream s(a), on_b(b);
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(on_b, 10);
    synchronize();
    std::atomic<int> ran{0};
    const auto make = [&] {
        Graph graph = build({kernel_node(a, Add{}, dim(10), x, 1),
                             kernel_node(b, Add{}, dim(10), y, 1), host_node(a, [&] { ++ran; })});
        graph.launch(s);
        return graph;
    };
    std::vector<Graph> graphs;
    std::optional<Error> refused;
    while (graphs.size() < 2000 && !refused) refused = error_of([&] { graphs.push_back(make()); });
    REQUIRE(refused);
    CHECK(refused->code() == ErrorCode::unsupported);
    CHECK(mentions(refused, "HEDDLE_HOST_GRAPH_BRANCHES"));
    CHECK(graphs.size() > 300);
    s.synchronize();
    CHECK(static_cast<std::size_t>(ran) == graphs.size());
    graphs.resize(graphs.size() / 2);
    graphs.push_back(make());
    s.synchronize();
    CHECK(graphs.back().is_instantiated());
}

TEST_CASE("child: a graph at the limit waits for destroyed graphs that still run", "[.child]") {
    end_if_it_hangs();
    const Device a("cuda:0"), b("cuda:1");
    const Stream s(a), on_b(b);
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(on_b, 10);
    synchronize();
    int ran = 0;
    const auto launch_one = [&] {  // a graph of three branches
        build({kernel_node(a, Add{}, dim(10), x, 1), kernel_node(b, Add{}, dim(10), y, 1),
               host_node(a, [&] { ++ran; })})
            .launch(s);
    };
    launch_one();
    synchronize();
    Gate gate(s);
    for (int i = 0; i < 4; ++i) launch_one();
    const Flag begins;
    bool is_blocked = false;
    std::jthread opener([&] {
        is_blocked = begins.wait() && eventually(main_thread_is_blocked);
        gate.open();
    });
    begins.set();
    launch_one();
    opener.join();
    synchronize();
    CHECK(is_blocked);
    CHECK(ran == 6);
}

TEST_CASE("at the limit, a graph of two GPUs waits for destroyed graphs that still run",
          "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    check_test_case("child: a graph at the limit waits for destroyed graphs that still run",
                    {"HEDDLE_HOST_GRAPH_BRANCHES=12"});
}

TEST_CASE("ten thousand graphs of two GPUs are made and launched while 220 are alive",
          "[cuda][multi]") {
    SKIP_WITHOUT_TWO_GPUS();
    const Device a("cuda:0"), b("cuda:1");
    const Stream s(a), on_b(b);
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(on_b, 10), value = full<int>(on_b, 1, 1);
    synchronize();
    std::vector<Graph> graphs(220);
    int expected = 0;
    for (std::size_t i = 0; i < 10'000; ++i) {
        auto first = kernel_node(a, Add{}, dim(10), x, 1);
        auto second = kernel_node(b, Add{}, dim(10), y, 1).after(first);
        auto beside = kernel_node(b, Multiply{}, dim(10), value, 1);
        auto decide = if_node(value, kernel_node(b, Add{}, dim(10), y, 1).build())
                          .after(second)
                          .after(beside);
        Graph graph = build({decide, host_node(a, [] {}).after(first)});
        graph.launch(s);
        expected += 2;
        graphs[i % graphs.size()] = std::move(graph);
    }
    on_b.wait_stream(s);
    CHECK(to_host(on_b, y) == Ints(10, expected));
}

CUDA_TEST_CASE("graphs of one GPU with host functions have no limit of heddle's") {
    const Device gpu("cuda:0");
    const Stream s(gpu);
    std::atomic<int> ran{0};
    std::vector<Graph> graphs;
    for (int i = 0; i < 1500; ++i) {
        graphs.push_back(host_node(gpu, [&] { ++ran; }).build());
        graphs.back().launch(s);
    }
    s.synchronize();
    CHECK(ran == 1500);
}
