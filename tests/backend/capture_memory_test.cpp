// Arrays that are allocated, and maybe freed, while a stream is captured.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("an array made in a capture belongs to the graph, and is usable after a launch") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> made;
    Graph graph = capture([&] {
        made = empty<int>(100);
        fill(made, 3);
        launch(Add{}, dim(100), made, 4);
    });
    CHECK(graph.nodes()[0].kind == NodeKind::allocate);
    graph.launch();
    CHECK(to_host(made) == Ints(100, 7));
    launch(Add{}, dim(100), made, 1);
    CHECK(to_host(made) == Ints(100, 8));
    graph.launch();
    CHECK(to_host(made) == Ints(100, 7));
    graph.reset();
    launch(Add{}, dim(100), made, 1);  // the array may outlive the graph
    CHECK(to_host(made) == Ints(100, 8));
}

TEST_CASE("an array freed in its capture is there for the graph, launch after launch") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> sum = zeros<int>(1000);
    Graph graph = capture([&] {
        Array<int> temporary = full<int>(1000, 5);
        launch(AddTo{}, dim(1000), temporary, sum);
    });
    for (int i = 0; i < 5; ++i) graph.launch();
    CHECK(to_host(sum) == Ints(1000, 25));
}

TEST_CASE("memory freed in a capture is used again where that adds no order, and only there") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    const ScopedStream in(a);
    const void *first = nullptr, *next = nullptr, *beside = nullptr;
    Array<int> out = zeros<int>(1000);
    Graph graph = capture([&] {
        b.wait_stream(a);
        {
            Array<int> temporary = full<int>(1000, 1);
            first = temporary.data();
            launch(AddTo{}, dim(1000), temporary, out);
        }
        {
            Array<int> temporary = full<int>(b, 1000, 2);  // may run beside the work on stream a
            beside = temporary.data();
        }
        Array<int> temporary = full<int>(1000, 3);
        next = temporary.data();
        launch(AddTo{}, dim(1000), temporary, out);
        a.wait_stream(b);
    });
    CHECK(next == first);
    CHECK(beside != first);
    graph.launch();
    graph.launch();
    CHECK(to_host(out) == Ints(1000, 8));
}

TEST_CASE("clones share the memory of a captured graph, and never run side by side") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    Graph graph;
    {
        const ScopedStream in(a);
        graph = capture([&] {
            Array<int> temporary = empty<int>(10);
            launch(Set{}, dim(10), temporary, 1);
            launch_host([&] { seen.add("run"); });
        });
    }
    Graph clone = graph.clone();
    gate.hold(a);
    graph.launch(a);
    clone.launch(b);
    check_held(seen, gate, b, {"run", "run"});
}

TEST_CASE("a capture that is thrown away gives its memory back; its arrays live as long as they "
          "are held") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> kept;
    CHECK_THROWS_AS((void)capture([&] {
                        kept = empty<int>(64);
                        Array<int> lost = zeros<int>(64);
                        fill(kept, 1);
                        throw Boom("away");
                    }),
                    Boom);
    fill(kept, 2);
    CHECK(to_host(kept) == Ints(64, 2));
}

TEST_CASE("arrays, graphs and streams of a capture are destroyed in every order") {
    const Drained drained;
    for (int order = 0; order < 6; ++order) {
        std::optional<Stream> s(std::in_place, test_device());
        Gate gate;
        std::optional<Array<int>> made;
        std::optional<Graph> graph = capture(*s, [&] {
            made = empty<int>(*s, 50);
            fill(*s, *made, 1);
            launch(*s, Add{}, dim(50), *made, 1);
        });
        gate.hold(*s);
        graph->launch(*s);
        constexpr int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        for (const int what : orders[order]) {
            if (what == 0) s.reset();
            if (what == 1) made.reset();
            if (what == 2) graph.reset();
        }
        gate.open();
    }
    synchronize_device(test_device());
    SUCCEED("nothing was touched after it was freed");
}

TEST_CASE("a captured array that lives on outlasts the capture's frees of others") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> outside = full<int>(10, 1);
    Array<int> lives;
    Graph graph = capture([&] {
        lives = full<int>(10, 4);
        const Array<int> gone = full<int>(10, 9);
        launch(AddTo{}, dim(10), gone, lives);
    });
    graph.launch();
    launch(AddTo{}, dim(10), outside, lives);
    CHECK(to_host(lives) == Ints(10, 14));
}

TEST_CASE("a graph with memory of its own is part of another") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> sum = zeros<int>(10);
    Graph inner = capture([&] {
        const Array<int> temporary = full<int>(10, 2);
        launch(AddTo{}, dim(10), temporary, sum);
    });
    Graph outer = capture([&] {
        inner.launch();
        launch(Multiply{}, dim(10), sum, 3);
        inner.launch();
    });
    outer.launch();
    CHECK(to_host(sum) == Ints(10, 8));
}

TEST_CASE("a graph that is captured after a kernel with memory of its own is destroyed with all "
          "that it held") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> x = zeros<int>(10);
    const auto held = std::make_shared<int>(0);
    {
        Graph graph = capture([&] {
            launch(Add{}, dim(10), x, 1);
            launch_host([held] {});
            const Array<int> temporary = full<int>(10, 1);
            launch(AddTo{}, dim(10), temporary, x);
        });
        graph.launch();
        s.synchronize();
    }
    synchronize_device(test_device());
    CHECK(eventually([&] { return held.use_count() == 1; }));
}
