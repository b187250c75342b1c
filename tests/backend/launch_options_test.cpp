// Launch options and dependent launches do not change results. Values beyond limits are reported.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

struct Count2 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View<int> v, std::size_t width) const {
        v[y * width + x] += 1;
    }
};
struct Count3 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, View<int> v,
                              std::size_t width, std::size_t height) const {
        v[(z * height + y) * width + x] += 10;
    }
};

/// y[i] = 2 * y[i] + i, after the previous kernel. Computes i before it waits for that kernel.
struct Step {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<int> y) const {
        const int own = static_cast<int>(i);
        wait_for_primary();
        y[i] = static_cast<int>(2u * static_cast<unsigned>(y[i]) + static_cast<unsigned>(own));
        trigger_dependents();
    }
};

/// Lets dependent kernels start before this kernel writes.
struct LateWrite {
    HEDDLE_FN void operator()(std::size_t i, View<int> x, int value) const {
        trigger_dependents();
        unsigned spun = static_cast<unsigned>(i);
        for (int r = 0; r < 200; ++r) spun = spun * 1664525u + 1013904223u;
        x[i] = spun == 1u ? value + 1 - 1 : value;
    }
};
/// y[i] += x[i], after the previous kernel has written x.
struct TakeOver {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<const int> x, View<int> y) const {
        wait_for_primary();
        y[i] += x[i];
    }
};

Ints stepped(std::size_t n, int steps) {
    Ints y(n);
    for (int s = 0; s < steps; ++s)
        for (std::size_t i = 0; i < n; ++i)
            y[i] = static_cast<int>(2u * static_cast<unsigned>(y[i]) + static_cast<unsigned>(i));
    return y;
}

bool is_hopper() { return test_device().is_cpu() || test_device().info().compute_major >= 9; }

}  // namespace

TEST_CASE("kernels give the same with every option") {
    const Stream s(test_device());
    for (const LaunchOptions& options :
         {LaunchOptions{.block = 1}, LaunchOptions{.block = 64}, LaunchOptions{.block = 256},
          LaunchOptions{.shared_bytes = 1024}, LaunchOptions{.shared_bytes = 60'000},
          LaunchOptions{.cooperative = true}, LaunchOptions{.priority = -100},
          LaunchOptions{.memory_domain = 1}}) {
        Array<int> x = full<int>(s, 5000, 1);
        launch(s, Add{}, dim(5000).with(options), x, 6);
        CHECK(to_host(s, x) == Ints(5000, 7));
    }
}

TEST_CASE("blocks of two and three dimensions have the size that is asked for") {
    const Stream s(test_device());
    for (const unsigned block : {32u, 64u, 256u}) {
        Array<int> x = zeros<int>(s, 70 * 9 * 5);
        launch(s, Count2{}, dim(70, 45).with({.block = block}), x, std::size_t{70});
        launch(s, Count3{}, dim(70, 9, 5).with({.block = block}), x, std::size_t{70},
               std::size_t{9});
        CHECK(to_host(s, x) == Ints(70 * 9 * 5, 11));
    }
}

TEST_CASE("clusters run kernels on devices that have them") {
    if (!is_hopper()) HEDDLE_SKIP("needs compute capability 9.0");
    const Stream s(test_device());
    for (const unsigned size : {1u, 2u, 8u}) {
        Array<int> x = zeros<int>(s, 100'000);
        launch(s, Add{}, dim(100'000).with({.block = 128, .cluster_x = size}), x, 3);
        CHECK(to_host(s, x) == Ints(100'000, 3));
    }
}

TEST_CASE("what the device cannot do is refused with its limit") {
    if (test_device().is_cpu()) HEDDLE_SKIP("CPU devices go by none of the options");
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 1 << 20);
    const auto refused = [&](const LaunchOptions& options) {
        return error_of([&] { launch(s, Add{}, dim(1 << 20).with(options), x, 1); });
    };
    CHECK(mentions(refused({.block = 512}), "at most 256"));
    CHECK(mentions(refused({.shared_bytes = 100 << 20}), "allows at most"));
    CHECK(mentions(refused({.block = 32, .cooperative = true}), "runs at most"));
    CHECK(mentions(refused({.memory_domain = 7}), "use 0 or 1"));
    CHECK(mentions(refused({.cluster_x = 2, .cluster_y = 0}),
                   "the cluster has 0 blocks in a dimension"));
    if (is_hopper())
        CHECK(
            mentions(refused({.block = 32, .cluster_x = 4, .cooperative = true}), "runs at most"));
    if (is_hopper()) CHECK(mentions(refused({.cluster_x = 16}), "1 to 8"));
    else CHECK(mentions(refused({.cluster_x = 2}), "9.0"));
    CHECK(to_host(s, x)[0] == 0);
}

TEST_CASE("nodes take the same options, and are refused with the same limits", "[graphs]") {
    const Here here;
    Array<int> x = zeros<int>(1000);
    kernel_node(Add{}, dim(1000).with({.shared_bytes = 60'000}), x, 1).build().launch();
    CHECK(to_host(x) == Ints(1000, 1));
    if (test_device().is_cpu()) return;  // CPU devices ignore the options
    const auto refused = [&](const LaunchOptions& options) {
        return error_of([&] {
            Graph graph = kernel_node(Add{}, dim(1000).with(options), x, 1).build();
            graph.launch();
        });
    };
    CHECK(mentions(refused({.block = 512}), "at most 256"));
    CHECK(mentions(refused({.shared_bytes = 100 << 20}), "allows at most"));
    CHECK(mentions(refused({.cluster_x = 2, .cluster_y = 0}),
                   "the cluster has 0 blocks in a dimension"));
    CHECK(to_host(x) == Ints(1000, 1));
}

TEST_CASE("options are kept by prepared launches, nodes, captures and batches", "[graphs]") {
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> x = zeros<int>(1000);
    const LaunchOptions options{.block = 64, .priority = -2};
    auto prepared = prepare(Add{}, dim(1000).with(options), x, 1);
    prepared.launch();
    Graph built = kernel_node(Add{}, dim(1000).with(options), x, 10).build();
    built.launch();
    Graph captured = capture([&] { launch(Add{}, dim(1000).with(options), x, 100); });
    captured.launch();
    Batch step({.on_cpu = true});
    for (int i = 0; i < 3; ++i) {
        step.run([&] { launch(Add{}, dim(1000).with(options), x, 1000); });
        if (i > 0) CHECK(step.last().outcome == BatchOutcome::replayed);
    }
    step.run([&] { launch(Add{}, dim(1000), x, 1000); });
    CHECK(step.last().outcome == BatchOutcome::instantiated);
    CHECK(to_host(x) == Ints(1000, 4111));
}

TEST_CASE("a chain of dependent launches gives what the plain chain gives, eagerly, captured and "
          "in batches",
          "[graphs]") {
    const Stream s(test_device());
    const ScopedStream in(s);
    constexpr int steps = 200;
    const Ints expected = stepped(3000, steps);
    const auto chain = [&](View<int> y) {
        for (int i = 0; i < steps; ++i) launch_dependent(Step{}, dim(3000), y);
    };
    Array<int> eager = zeros<int>(3000);
    chain(eager);
    CHECK(to_host(eager) == expected);
    Array<int> captured = zeros<int>(3000);
    Graph graph = capture([&] { chain(captured); });
    graph.launch();
    CHECK(to_host(captured) == expected);
    Array<int> batched = zeros<int>(3000);
    Batch step({.on_cpu = true});
    step.run([&] { chain(batched); });
    CHECK(to_host(batched) == expected);
}

TEST_CASE("nodes depend on each other's start", "[graphs]") {
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> y = zeros<int>(3000);
    auto last = kernel_node(Step{}, dim(3000), y);
    for (int i = 1; i < 50; ++i) {
        auto next = kernel_node(Step{}, dim(3000), y);
        next.dependent_on(last);
        last = next;
    }
    Graph graph = last.build();
    CHECK(graph.edge_count() == 49);
    graph.launch();
    CHECK(to_host(y) == stepped(3000, 50));
}

TEST_CASE("a dependent kernel after a copy or a fill waits for it", "[graphs]") {
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> x = full<int>(3000, 5), y = zeros<int>(3000);
    Ints expected(3000);
    for (std::size_t i = 0; i < 3000; ++i) expected[i] = 10 + static_cast<int>(i);
    copy(y, x);
    launch_dependent(Step{}, dim(3000), y);
    CHECK(to_host(y) == expected);
    Graph graph = capture([&] {
        copy(y, x);
        launch_dependent(Step{}, dim(3000), y);
    });
    graph.launch();
    CHECK(to_host(y) == expected);
}

TEST_CASE(
    "kernels on other streams depend on a programmatic event, and see what its kernel wrote") {
    const Stream a(test_device()), b(test_device()), c(test_device());
    constexpr std::size_t n = 100'000;
    Array<int> x = zeros<int>(a, n), y = zeros<int>(b, n), z = zeros<int>(c, n);
    synchronize();
    ProgrammaticEvent started(test_device());
    CHECK(started.device() == test_device());
    for (int round = 0; round < 50; ++round) {
        launch_triggering(a, started, LateWrite{}, dim(n), x, round);
        launch_dependent(b, started, TakeOver{}, dim(n), std::as_const(x), y);
        launch_dependent(c, started, TakeOver{}, dim(n), std::as_const(x), z);
        a.wait_stream(b);
        a.wait_stream(c);
    }
    CHECK(to_host(b, y) == Ints(n, 49 * 50 / 2));
    CHECK(to_host(c, z) == Ints(n, 49 * 50 / 2));
}

TEST_CASE("a programmatic event holds its dependents until its kernel has come that far") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, 100), y = zeros<int>(b, 100);
    synchronize();
    Gate gate;
    ProgrammaticEvent started(test_device());
    gate.hold(a);
    launch_triggering(a, started, LateWrite{}, dim(100), x, 7);
    launch_dependent(b, started, TakeOver{}, dim(100), std::as_const(x), y);
    Flag ran;
    launch_host(b, [ran] { ran.set(); });
    finish_work(test_device());
    CHECK_FALSE(ran.is_set());
    gate.open();
    CHECK(to_host(b, y) == Ints(100, 7));
}

TEST_CASE(
    "captured dependents start early beside the kernel they depend on, and beside nothing else",
    "[graphs]") {
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, 100), y = zeros<int>(b, 100), z = zeros<int>(b, 100);
    synchronize();
    ProgrammaticEvent started(test_device());
    const auto dependents = [](const Graph& graph) {
        std::vector<std::vector<std::size_t>> all;
        for (const NodeInfo& node : graph.nodes()) all.push_back(node.dependent_on);
        return all;
    };
    using All = std::vector<std::vector<std::size_t>>;

    SECTION("on one stream: the kernel before") {
        Graph graph = capture(a, [&] {
            launch(a, Step{}, dim(100), x);
            launch_dependent(a, Step{}, dim(100), x);
            launch_dependent(a, Step{}, dim(100), x);
        });
        CHECK(dependents(graph) == All{{}, {0}, {1}});
        CHECK(dependents(graph.clone()) == All{{}, {0}, {1}});
        CHECK(graph.dot().find("n0 -> n1 [style=dashed]") != std::string::npos);
        const Graph parent = capture(a, [&] { graph.launch(a); });
        CHECK(dependents(parent) == All{{}, {0}, {1}, {}});
    }
    SECTION("after a wait for another stream: none") {
        const Graph graph = capture(a, [&] {
            b.wait_stream(a);
            launch(a, Step{}, dim(100), x);
            launch(b, Step{}, dim(100), y);
            a.wait_stream(b);
            launch_dependent(a, Step{}, dim(100), x);
        });
        CHECK(dependents(graph) == All{{}, {}, {}});
    }
    SECTION("after a copy: none") {
        const Graph graph = capture(a, [&] {
            copy(a, x, y);
            launch_dependent(a, Step{}, dim(100), x);
        });
        CHECK(dependents(graph) == All{{}, {}});
    }
    SECTION("after a programmatic event: its kernel, and not the one before on the own stream") {
        const Graph graph = capture(a, [&] {
            b.wait_stream(a);
            launch_triggering(a, started, LateWrite{}, dim(100), x, 1);
            launch(b, Step{}, dim(100), y);
            launch_dependent(b, started, TakeOver{}, dim(100), std::as_const(x), z);
            launch_dependent(b, Step{}, dim(100), y);
            a.wait_stream(b);
        });
        CHECK(graph.nodes()[2].after == std::vector<std::size_t>{0, 1});
        CHECK(dependents(graph) == All{{}, {}, {0}, {2}});
    }
    SECTION("from stream to stream: each the one before") {
        ProgrammaticEvent next(test_device());
        const Graph graph = capture(a, [&] {
            launch_triggering(a, started, LateWrite{}, dim(100), x, 1);
            launch_dependent(b, started, TakeOver{}, dim(100), std::as_const(x), z);
            next.record(b);
            launch_dependent(a, next, Step{}, dim(100), z);
        });
        CHECK(dependents(graph) == All{{}, {0}, {1}});
        CHECK(graph.nodes()[2].after == std::vector<std::size_t>{0, 1});
    }
    SECTION("after a plain wait for the event's stream: none") {
        const Graph graph = capture(a, [&] {
            launch_triggering(a, started, LateWrite{}, dim(100), x, 1);
            b.wait_stream(a);
            launch_dependent(b, Step{}, dim(100), y);
            a.wait_stream(b);
        });
        CHECK(dependents(graph) == All{{}, {}});
    }
    SECTION("nodes: those that were named, unless after() comes later") {
        auto nothing = fill_node(x, 0);
        auto refused = kernel_node(test_device(), Step{}, dim(100), x);
        CHECK_THROWS_AS(refused.dependent_on(nothing), UsageError);
        CHECK(refused.build().nodes().size() == 1);
        auto first = kernel_node(test_device(), Step{}, dim(100), x);
        auto other = kernel_node(test_device(), Step{}, dim(100), y);
        auto last =
            kernel_node(test_device(), Step{}, dim(100), x).dependent_on(first).after(other);
        auto end =
            kernel_node(test_device(), Step{}, dim(100), z).dependent_on(last, other).after(other);
        const Graph graph = end.build();
        CHECK(dependents(graph) == All{{}, {}, {0}, {2}});
        Graph updated = graph.clone();
        auto plain = kernel_node(test_device(), Step{}, dim(100), x);
        auto beside = kernel_node(test_device(), Step{}, dim(100), y);
        auto after = kernel_node(test_device(), Step{}, dim(100), x).after(plain, beside);
        CHECK_THROWS_AS(
            updated.update(
                kernel_node(test_device(), Step{}, dim(100), z).after(after, beside).build()),
            UsageError);
    }
}

TEST_CASE("a batch tells dependent launches from plain ones", "[graphs]") {
    const Stream a(test_device());
    Array<int> x = zeros<int>(a, 100);
    Batch batch({.on_cpu = true});
    const auto run = [&](bool dependent) {
        ScopedBatch in(batch, a);
        launch(a, Step{}, dim(100), x);
        if (dependent) launch_dependent(a, Step{}, dim(100), x);
        else launch(a, Step{}, dim(100), x);
        in.end();
        return batch.last().outcome;
    };
    CHECK(run(false) == BatchOutcome::instantiated);
    CHECK(run(true) == BatchOutcome::instantiated);
    CHECK(run(true) == BatchOutcome::replayed);
    CHECK(run(false) == BatchOutcome::replayed);
    CHECK(to_host(a, x) == stepped(100, 8));
}

TEST_CASE("programmatic events are captured, and order the graph's kernels", "[graphs]") {
    const Stream a(test_device()), b(test_device());
    constexpr std::size_t n = 100'000;
    Array<int> x = zeros<int>(a, n), y = zeros<int>(b, n);
    synchronize();
    ProgrammaticEvent started(test_device());
    Graph graph = capture(a, [&] {
        launch_triggering(a, started, LateWrite{}, dim(n), x, 3);
        launch_dependent(b, started, TakeOver{}, dim(n), std::as_const(x), y);
        a.wait_stream(b);
    });
    CHECK(graph.size() == 2);
    CHECK(graph.edge_count() == 1);
    for (int i = 0; i < 20; ++i) graph.launch(a);
    CHECK(to_host(a, y) == Ints(n, 60));
}

TEST_CASE("a programmatic event is recorded on its own device only, and one never recorded orders "
          "nothing") {
    const Stream a(test_device());
    Array<int> x = full<int>(a, 10, 1), y = zeros<int>(a, 10);
    ProgrammaticEvent never(test_device());
    launch_dependent(a, never, TakeOver{}, dim(10), std::as_const(x), y);
    CHECK(to_host(a, y) == Ints(10, 1));
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    ProgrammaticEvent other(test_devices()[1]);
    CHECK_THROWS_AS(launch_triggering(a, other, LateWrite{}, dim(10), x, 1), UsageError);
}
