// Graphs built from nodes: order, changes, errors, and the destruction of objects that they use.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("nodes run in the order of their dependencies, whatever the order they were made in") {
    const Here here;
    Array<int> x = zeros<int>(100);
    auto add = kernel_node(Add{}, dim(100), x, 1);
    auto twice = kernel_node(Multiply{}, dim(100), x, 2);
    auto add_again = kernel_node(Add{}, dim(100), x, 3);
    twice.after(add);
    add_again.after(twice);
    Graph graph = add_again.build();
    CHECK(graph.size() == 3);
    CHECK(graph.edge_count() == 2);
    launch(graph);
    CHECK(to_host(x) == Ints(100, 5));
    launch(here.stream, graph);
    graph.launch();
    CHECK(to_host(x) == Ints(100, ((5 + 1) * 2 + 3 + 1) * 2 + 3));
}

TEST_CASE("a node comes after all nodes of a vector") {
    const Here here;
    Array<int> x = zeros<int>(30);
    std::vector<GraphNode> adds;
    for (std::size_t i = 0; i < 3; ++i)
        adds.push_back(kernel_node(Add{}, dim(10), x.subview(10 * i, 10), 1));
    Graph graph = kernel_node(Multiply{}, dim(30), x, 2).after(adds).build();
    CHECK(graph.edge_count() == 3);
    launch(graph);
    CHECK(to_host(x) == Ints(30, 2));
}

TEST_CASE("a diamond: both sides come after the top, the bottom after both sides") {
    const Here here;
    Array<int> x = zeros<int>(1000), y = zeros<int>(1000), z = zeros<int>(1000);
    auto top = kernel_node(Add{}, dim(1000), x, 1);
    auto left = copy_node(y, x).after(top);
    auto right = kernel_node(AddTo{}, dim(1000), x, z).after(top);
    auto bottom = kernel_node(AddTo{}, dim(1000), y, z).after(left, right);
    Graph graph = bottom.build();
    CHECK(graph.edge_count() == 4);
    int expected = 0;
    for (int i = 1; i <= 50; ++i) {
        graph.launch();
        expected += 2 * i;
    }
    CHECK(to_host(z) == Ints(1000, expected));
}

TEST_CASE("a graph comes in its stream's order, and what comes after it waits for all of it") {
    const OrderLog seen;
    const Drained drained;
    Gate before, inside;
    const Stream s(test_device());
    auto first = host_node(test_device(), [&] { seen.add("first"); });
    auto second = host_node(test_device(), [&] { seen.add("second"); }).after(first);
    Graph graph = second.build();
    graph.instantiate();
    before.hold(s);
    graph.launch(s);
    seen.note(s, "after");
    check_held(seen, before, s, {"first", "second", "after"});
}

TEST_CASE("launches of one graph come one after the other, on different streams too") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, 10);
    b.wait_stream(a);
    a.synchronize();
    auto add = kernel_node(test_device(), Add{}, dim(10), x, 1);
    auto twice = kernel_node(test_device(), Multiply{}, dim(10), x, 2).after(add);
    Graph graph = twice.build();
    for (int i = 0; i < 5; ++i) {
        graph.launch(a);
        graph.launch(b);
    }
    a.synchronize();
    b.synchronize();
    int expected = 0;
    for (int i = 0; i < 10; ++i) expected = (expected + 1) * 2;
    CHECK(to_host(a, x) == Ints(10, expected));
}

TEST_CASE("arguments, extents, copies and fills of single nodes change for the next launch, and "
          "not for the "
          "last one") {
    const Here here;
    Array<int> x = zeros<int>(100), y = zeros<int>(100), z = zeros<int>(100);
    auto fill = fill_node(x, 1);
    auto add = kernel_node(Add{}, dim(100)).after(fill);
    add.args(x, 10);
    auto copy = copy_node(y, x).after(add);
    Graph graph = copy.build();
    graph.launch();
    CHECK(to_host(y) == Ints(100, 11));
    add.args(x, 20);
    graph.launch();
    CHECK(to_host(y) == Ints(100, 21));
    add.dim(dim(50));
    fill.with(x, 2);
    graph.launch();
    Ints expected(100, 2);
    std::fill_n(expected.begin(), 50, 22);
    CHECK(to_host(y) == expected);
    copy.between(z, x);
    fill.with(x, 7);
    graph.launch();
    CHECK(to_host(y) == expected);
    std::replace(expected.begin(), expected.end(), 2, 7);
    std::replace(expected.begin(), expected.end(), 22, 27);
    CHECK(to_host(z) == expected);
}

TEST_CASE("a launch that has not run yet keeps what it was launched with") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    auto add = kernel_node(test_device(), Add{}, dim(10), x, 1);
    Graph graph = add.build();
    graph.instantiate();
    gate.hold(s);
    graph.launch(s);
    add.args(x, 100);
    graph.launch(s);
    gate.open();
    CHECK(to_host(s, x) == Ints(10, 101));
}

TEST_CASE(
    "a disabled node does nothing, and what comes after it still comes after what it was after") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto first = kernel_node(Add{}, dim(10), x, 1);
    auto second = kernel_node(Multiply{}, dim(10), x, 10).after(first);
    auto third = kernel_node(Add{}, dim(10), x, 2).after(second);
    Graph graph = third.build();
    second.disable();
    CHECK_FALSE(second.is_enabled());
    graph.launch();
    CHECK(to_host(x) == Ints(10, 3));
    second.enable();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 42));
    auto host = host_node([] {});
    CHECK(mentions(error_of([&] { host.disable(); }), "disable kernels, copies and fills only"));
}

TEST_CASE("nodes are found by name, and may be changed through what is found") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
    auto again = kernel_node(Add{}, dim(10), x, 1).name("again").after(add);
    Graph graph = again.build();
    CHECK(graph.node("add") == add);
    graph.node("again").disable();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 1));
    CHECK(mentions(error_of([&] { (void)graph.node("nobody"); }), "no node is named 'nobody'"));
    again.name("second");
    CHECK(graph.node("second") == again);
    CHECK(mentions(error_of([&] { (void)graph.node("again"); }), "no node is named 'again'"));
    again.name("add");
    CHECK(mentions(error_of([&] { (void)graph.node("add"); }), "several nodes are named 'add'"));
}

TEST_CASE("what cannot be a graph is refused when it is built, by name") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto a = kernel_node(Add{}, dim(10), x, 1).name("a"),
         b = kernel_node(Add{}, dim(10), x, 1).name("b");
    SECTION("a circle") {
        a.after(b);
        b.after(a);
        const auto error = error_of([&] { (void)a.build(); });
        CHECK(mentions(error, "form a cycle"));
        CHECK(mentions(error, "'a'"));
        CHECK(mentions(error, "'b'"));
    }
    SECTION("a circle of nodes that were made on one line, and have no names") {
        std::vector<KernelNode<Add, 1>> nodes;
        for (int i = 0; i < 3; ++i) nodes.push_back(kernel_node(Add{}, dim(10), x, 1));
        for (std::size_t i = 0; i < 3; ++i) nodes[i].after(nodes[(i + 1) % 3]);
        a.after(nodes[0]);
        const Error error = thrown_by([&] { (void)a.build(); });
        const std::string text = error.what();
        // Node 0 depends on node 1, node 1 on node 2, and node 2 on node 0.
        const auto at = [&](const char* label, std::size_t from) { return text.find(label, from); };
        const std::size_t first = at("#1", 0), second = at("#2", 0), third = at("#3", 0);
        CHECK(first < second);
        CHECK(second < third);
        CHECK(third < at("#1", third));
        CHECK(at("#1", third) != std::string::npos);
        CHECK(mentions(error, "name()"));
        CHECK(mentions(error, "kernel heddle_test::Add #1 (made at "));
    }
    SECTION("missing arguments") {
        auto c = kernel_node(Add{}, dim(10)).name("c");
        b.after(c);
        CHECK(mentions(error_of([&] { (void)b.build(); }), "kernel 'c' has no arguments"));
        Array<int> none;
        CHECK(thrown_by([&] { c.args(none, 1); }).call() == "args");
        c.args(x, 1);
        b.build().launch();
        CHECK(to_host(x) == Ints(10, 2));
    }
    SECTION("a node of another graph") {
        {
            Graph first = a.build();
            b.after(a);
            const auto error = error_of([&] { (void)b.build(); });
            CHECK(mentions(error, "'a', made at "));
            CHECK(mentions(error, ", is already in another graph"));
        }
        b.build().launch();  // `b` no longer belongs to a graph
        CHECK(to_host(x) == Ints(10, 2));
    }
    SECTION("an edge into a graph that is built") {
        Graph graph = a.build();
        const auto error = error_of([&] { a.after(b); });
        CHECK(mentions(error, "graph_test.cpp:"));
        CHECK(mentions(error, "its dependencies are fixed"));
    }
    SECTION("a copy of a node after it") {
        auto copy = a;
        CHECK(mentions(error_of([&] { (void)copy.after(a).build(); }),
                       "depends on itself: copies of a GraphNode refer to the same node"));
    }
    SECTION("pageable memory") {
        Ints host(10);
        CHECK(mentions(error_of([&] { (void)copy_node(host, x); }), "use pinned()"));
    }
}

TEST_CASE("memory that went before its graph is launched is an error that names the node") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
    Graph graph = add.build();
    graph.launch();
    x.reset();
    CHECK(mentions(error_of([&] { graph.launch(); }), "'add' uses an array that was destroyed"));
    here.stream.synchronize();
}

TEST_CASE("memory is freed after the graphs that were launched with it") {
    DrainedGate gate;
    const Stream s(test_device()), other(test_device());
    Array<int> y = ready_zeros<int>(s, 1000);
    gate.hold(s);
    {
        Array<int> x = full<int>(other, 1000, 3);
        s.wait_stream(other);
        auto node = kernel_node(test_device(), AddTo{}, dim(1000), x, y);
        Graph graph = node.build();
        graph.launch(s);
    }  // the graph and the array are destroyed while the launch is pending
    Array<int> z = full<int>(other, 1000, 9);
    gate.open();
    CHECK(to_host(s, y) == Ints(1000, 3));
}

TEST_CASE("a clone is another graph of the same work") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
    auto twice = kernel_node(Multiply{}, dim(10), x, 2).after(add).name("twice");
    Graph graph = twice.build();
    Graph copy = graph.clone();
    CHECK(copy.size() == 2);
    CHECK(copy.edge_count() == 1);
    CHECK_FALSE(copy.is_instantiated());
    copy.node("twice").disable();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 2));
    copy.launch();
    CHECK(to_host(x) == Ints(10, 3));
}

TEST_CASE("a graph takes over the work of another of its shape, and refuses one that differs") {
    const Here here;
    Array<int> x = zeros<int>(10);
    const auto make = [&](int value, bool ordered) {
        auto add = kernel_node(Add{}, dim(10), x, value).name("add");
        auto twice = kernel_node(Multiply{}, dim(10), x, 2).name("twice");
        if (ordered) twice.after(add);
        return build({add, twice});
    };
    Graph graph = make(1, true);
    graph.launch();
    graph.update(make(10, true));
    graph.launch();
    CHECK(to_host(x) == Ints(10, 24));
    CHECK(mentions(error_of([&] { graph.update(make(1, false)); }),
                   "'twice' depends on other nodes"));
    auto fill = fill_node(x, 1);
    CHECK(mentions(error_of([&] { graph.update(fill.build()); }),
                   "has 2 nodes, but the other graph has 1"));
    graph.launch();
    CHECK(to_host(x) == Ints(10, 68));
}

TEST_CASE("a graph may be part of another") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
    auto twice = kernel_node(Multiply{}, dim(10), x, 2).after(add).name("twice");
    const Graph inner = twice.build();
    auto first = fill_node(x, 5);
    auto child = child_node(inner).after(first).name("inner");
    auto last = kernel_node(Add{}, dim(10), x, 100).after(child);
    Graph graph = last.build();
    CHECK(graph.size() == 5);
    CHECK(graph.node("inner/add").kind() == NodeKind::kernel);
    graph.launch();
    CHECK(to_host(x) == Ints(10, 112));
}

TEST_CASE(
    "a graph records events and waits for events, so that graphs on two streams come in order") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    Event between(test_device());
    auto work = host_node(test_device(), [&] { seen.add("first graph"); });
    auto record = record_node(between).after(work);
    Graph first = record.build();
    auto wait = wait_node(between);
    auto more = host_node(test_device(), [&] { seen.add("second graph"); }).after(wait);
    Graph second = more.build();
    first.instantiate();
    second.instantiate();
    gate.hold(a);
    first.launch(a);
    second.launch(b);
    CHECK(between.is_recorded());
    CHECK_FALSE(between.is_complete());
    check_held(seen, gate, b, {"first graph", "second graph"});
    CHECK(between.is_complete());
}

TEST_CASE("a host function of a graph that fails poisons the stream, and what comes after it in "
          "the graph is "
          "not done") {
    const Drained drained;
    const Stream s(test_device());
    std::atomic<int> ran{0};
    auto fails = host_node(test_device(), [] { throw Boom("boom"); });
    auto next = host_node(test_device(), [&] { ++ran; }).after(fails);
    Graph graph = next.build();
    graph.launch(s);
    const Error error = thrown_by([&] { s.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK(cause_of(error) == "boom");
    CHECK(ran == 0);
    (void)s.clear_error();
    auto fine = host_node(test_device(), [&] { ++ran; });
    fine.build().launch(s);
    s.synchronize();
    CHECK(ran == 1);
}

TEST_CASE("ten thousand nodes run, in a chain and side by side") {
    const Here here;
    Array<int> x = zeros<int>(1);
    std::atomic<int> ran{0};
    SECTION("in a chain") {
        const int count = 10'000;
        auto last = kernel_node(Add{}, dim(1), x, 1);
        for (int i = 1; i < count; ++i) last = kernel_node(Add{}, dim(1), x, 1).after(last);
        Graph graph = last.build();
        graph.launch();
        graph.launch();
        CHECK(to_host(x) == Ints{2 * count});
    }
    SECTION("side by side") {
        // Fewer nodes on CUDA: after a launch of 10,000 parallel nodes, the driver (580.159.04)
        // crashes if one GPU's stream waits for another's. It does so without heddle, too.
        const int count = test_device().is_cuda() ? 1'000 : 10'000;
        auto end = empty_node();
        for (int i = 0; i < count; ++i) end.after(host_node([&] { ++ran; }));
        Graph graph = end.build();
        graph.launch();
        graph.launch();
        here.stream.synchronize();
        CHECK(ran == 2 * count);
    }
}

TEST_CASE("a fill that is changed is right in every launch, whatever pattern and length it had") {
    const Here here;
    const int patterns[] = {659705708, 0x00050005, 0x07070707, 0};
    Array<int> small = zeros<int>(40), large = zeros<int>(20'000);
    for (const int first : patterns)
        for (const int second : patterns)
            for (const std::size_t count : {5u, 300u, 17'501u}) {
                fill(large, -1);
                auto node = fill_node(small.view().first(5), first);
                Graph graph = node.build();
                graph.launch();
                node.with(large.view().subview(3, count), second);
                for (int i = 0; i < 3; ++i) graph.launch();
                Ints expected(20'000, -1);
                std::fill_n(expected.begin() + 3, count, second);
                INFO(first << ", then " << count << " of " << second);
                CHECK(to_host(large) == expected);
            }
    Array<short> shorts = full<short>(20'000, -1);
    auto node = fill_node(shorts.view().first(3), 1);
    Graph graph = node.build();
    graph.launch();
    node.with(shorts.view().subview(1, 15'001), 5);
    for (int i = 0; i < 3; ++i) graph.launch();
    std::vector<short> expected(20'000, -1);
    std::fill_n(expected.begin(), 3, short{1});
    std::fill_n(expected.begin() + 1, 15'001, short{5});
    CHECK(to_host(shorts) == expected);
}

TEST_CASE("long chains of nodes that were never built are destroyed") {
    const Here here;
    auto last = empty_node();
    for (int i = 0; i < 200'000; ++i) last = empty_node().after(last);
    CHECK(last);
}

TEST_CASE("graphs are looked at") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto fill = fill_node(x, 1).name("start \"here\"");
    auto add = kernel_node(Add{}, dim(10), x, 1).after(fill);
    Graph graph = add.build();
    const std::vector<NodeInfo> nodes = graph.nodes();
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].kind == NodeKind::fill);
    CHECK(nodes[0].name == "start \"here\"");
    CHECK(nodes[1].kind == NodeKind::kernel);
    CHECK(nodes[1].name.find("Add") != std::string::npos);
    CHECK(nodes[1].after == std::vector<std::size_t>{0});
    CHECK(nodes[1].device == test_device());
    const std::string dot = graph.dot();
    CHECK(dot.find("n0 -> n1") != std::string::npos);
    CHECK(dot.find("start \\\"here\\\"") != std::string::npos);
}

TEST_CASE("a graph is launched on its own kind of device, and counted") {
    const Here here;
    Graph nothing;
    CHECK(mentions(error_of([&] { nothing.launch(); }), "this graph is empty"));
    auto node = host_node([] {});
    Graph graph = node.build();
    const OpCounter counter;
    graph.launch();
    CHECK(counter.stats().graph_launches == 1);
    if (test_device().is_cuda()) {
        const Stream cpu(cpu_device());
        CHECK(
            mentions(error_of([&] { graph.launch(cpu); }), "launch it on a stream of that device"));
    }
    here.stream.synchronize();
}

TEST_CASE("graphs are launched, changed and destroyed by many threads at once") {
    const Drained drained;
    std::atomic<int> wrong{0};
    on_threads(4, [&] {
        const Stream s(test_device());
        for (int i = 0; i < 20; ++i) {
            Array<int> x = zeros<int>(s, 500);
            auto top = kernel_node(test_device(), Add{}, dim(500), x, 1);
            auto bottom = kernel_node(test_device(), Multiply{}, dim(500), x, 3).after(top);
            Graph graph = bottom.build();
            graph.launch(s);
            top.args(x, 2);
            graph.launch(s);
            wrong += to_host(s, x) != Ints(500, 15);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("a child graph with several ends, after another node, is part of the graph") {
    const Here here;
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    Graph inner = build({fill_node(x, 2), fill_node(y, 3)});
    auto first = fill_node(x, 1);
    auto child = child_node(inner).after(first);
    auto last = kernel_node(AddTo{}, dim(10), x, y).after(child);
    Graph graph = last.build();
    graph.launch();
    CHECK(to_host(y) == Ints(10, 5));
}

TEST_CASE("a node before a child graph is built again when its graph is gone") {
    const Here here;
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    Graph inner = fill_node(x, 2).build();
    auto first = fill_node(y, 5);
    auto child = child_node(inner).after(first);
    { const Graph gone = child.build(); }
    Graph again = first.build();
    CHECK(again.size() == 1);
    again.launch();
    CHECK(to_host(y) == Ints(10, 5));
}

TEST_CASE("an array that took the place of one that is gone is not mistaken for it") {
    const Here here;
    auto old = std::make_unique<Array<int>>(zeros<int>(100));
    auto node = kernel_node(Add{}, dim(100), *old, 1);
    Graph graph = node.build();
    graph.launch();
    here.stream.synchronize();
    old.reset();
    Array<int> other = full<int>(100, 5);
    CHECK(mentions(error_of([&] { graph.launch(); }), "destroyed"));
    CHECK(to_host(other) == Ints(100, 5));
    node.args(other, 2);
    graph.launch();
    CHECK(to_host(other) == Ints(100, 7));
}

TEST_CASE("two handles of one kernel node know of each other's extents") {
    const Here here;
    Array<int> x = zeros<int>(100);
    auto node = kernel_node(Add{}, dim(100), x, 1).name("add");
    Graph graph = node.build();
    KernelNode<Add, 1> found(graph.node("add"));
    found.dim(dim(10));
    node.args(x, 3);
    graph.launch();
    Ints expected(100);
    std::fill(expected.begin(), expected.begin() + 10, 3);
    CHECK(to_host(x) == expected);
}

TEST_CASE("what a named node throws is told with its name") {
    const Here here;
    auto node = host_node(test_device(), [] { throw Boom("disk full"); }).name("writer");
    Graph graph = node.build();
    graph.launch();
    const auto error = error_of([&] { here.stream.synchronize(); });
    CHECK(mentions(error, "writer"));
    CHECK(mentions(error, "disk full"));
}
