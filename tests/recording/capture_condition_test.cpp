// Conditions in captures, and the same code outside captures.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

/// value -= 1
struct CountDown {
    HEDDLE_FN void operator()(std::size_t, View<int> value) const { value[0] -= 1; }
};

/// Captures `body` and launches the graph. If `captured` is false, just calls `body`.
void run(bool captured, StreamRef stream, const std::function<void()>& body) {
    if (!captured) return body();
    Graph graph = capture(stream, body);
    graph.launch(stream);
}

}  // namespace

TEST_CASE("capture_if decides when the graph comes to it, and at once outside of a capture") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> value = zeros<int>(1), x = zeros<int>(10);
    for (const bool captured : {false, true}) {
        fill(x, 0);
        run(captured, s, [&] {
            fill(value, 1);
            capture_if(
                value, [&] { launch(Add{}, dim(10), x, 1); },
                [&] { launch(Add{}, dim(10), x, 100); });
            fill(value, 0);
            capture_if(
                value, [&] { launch(Add{}, dim(10), x, 1000); },
                [&] { launch(Add{}, dim(10), x, 20); });
            capture_if(value, [&] { launch(Add{}, dim(10), x, 1000); });
        });
        CHECK(to_host(x) == Ints(10, 21));
    }
}

TEST_CASE("capture_if and capture_while take graphs in place of functions") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> value = zeros<int>(1), left = zeros<int>(1), x = zeros<int>(10);
    Graph one = kernel_node(Add{}, dim(10), x, 1).build();
    for (const bool captured : {false, true}) {
        fill(x, 0);
        run(captured, s, [&] {
            fill(value, 1);
            capture_if(value, one);
            capture_if(s, value, one, [&] { launch(Add{}, dim(10), x, 1000); });
            fill(value, 0);
            capture_if(value, one);
            capture_if(value, one, kernel_node(Add{}, dim(10), x, 20).build());
            fill(left, 3);
            auto count = kernel_node(CountDown{}, dim(1), left);
            auto add = kernel_node(Add{}, dim(10), x, 100).after(count);
            capture_while(left, add.build());
        });
        CHECK(to_host(x) == Ints(10, 322));
    }
}

TEST_CASE("a graph under a captured condition becomes its body, with kernels and no child graph") {
    const Stream s(test_device());
    Array<int> value = zeros<int>(s, 1), x = zeros<int>(s, 10);
    Graph add = kernel_node(Add{}, dim(10), x, 1).name("adds one").build();
    Graph graph = capture(s, [&] { capture_if(s, value, add); });
    CHECK(graph.size() == 1);
    CHECK(graph.dot().find("adds one") != std::string::npos);
    CHECK(mentions(error_of([&] { capture_if(s, value, Graph()); }), "empty") == false);
    fill(s, value, 1);
    CHECK(error_of([&] { capture_if(s, value, Graph()); }));
    s.synchronize();
}

TEST_CASE("a captured condition follows the value from launch to launch") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> value = zeros<int>(1), x = zeros<int>(10);
    Graph graph = capture([&] { capture_if(value, [&] { launch(Add{}, dim(10), x, 1); }); });
    CHECK(graph.nodes()[0].kind == NodeKind::conditional);
    for (int i = 0; i < 6; ++i) {
        fill(value, i % 3);
        graph.launch();
    }
    CHECK(to_host(x) == Ints(10, 4));
}

TEST_CASE("capture_while repeats its body until the value is 0") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> value = zeros<int>(1), x = zeros<int>(10);
    for (const bool captured : {false, true}) {
        fill(x, 0);
        fill(value, 7);
        run(captured, s, [&] {
            capture_while(value, [&] {
                launch(Add{}, dim(10), x, 3);
                launch(CountDown{}, dim(1), value);
            });
            launch(Multiply{}, dim(10), x, 2);
        });
        CHECK(to_host(x) == Ints(10, 42));
    }
}

TEST_CASE(
    "what a pass of capture_while sets as current is not current in the next, captured or not") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Array<int> value = zeros<int>(s, 1);
    for (const bool captured : {false, true}) {
        fill(s, value, 3);
        int passes = 0, wrong = 0;
        run(captured, s, [&] {
            capture_while(s, value, [&] {
                ++passes;
                wrong += current_stream(test_device()) != s || current_device() != test_device();
                launch(s, CountDown{}, dim(1), value);
                set_stream(other);
                s.wait_stream(other);
                set_device(cpu_device());
            });
        });
        CHECK(wrong == 0);
        CHECK(passes == (captured ? 1 : 3));
        CHECK(to_host(s, value) == Ints{0});
    }
}

TEST_CASE("conditions nest, and hold work side by side") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> outer = zeros<int>(1), inner = zeros<int>(1), x = zeros<int>(10), y = zeros<int>(10);
    Graph graph = capture([&] {
        fill(outer, 3);
        capture_while(outer, [&] {
            fill(inner, 2);
            capture_while(inner, [&] {
                fork_join([&] { launch(Add{}, dim(10), x, 1); },
                          [&] { launch(Add{}, dim(10), y, 2); });
                launch(CountDown{}, dim(1), inner);
            });
            launch(CountDown{}, dim(1), outer);
        });
    });
    graph.launch();
    CHECK(to_host(x) == Ints(10, 6));
    CHECK(to_host(y) == Ints(10, 12));
}

TEST_CASE("a body that throws leaves the capture around it as it was before the condition") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> value = full<int>(1, 1), x = zeros<int>(10);
    s.synchronize();
    Graph graph = capture([&] {
        launch(Add{}, dim(10), x, 1);
        CHECK_THROWS_AS(capture_if(value,
                                   [&] {
                                       launch(Add{}, dim(10), x, 100);
                                       throw Boom("in a body");
                                   }),
                        Boom);
        CHECK(is_capturing());
        launch(Add{}, dim(10), x, 1);
    });
    CHECK(graph.size() == 2);
    graph.launch();
    CHECK(to_host(x) == Ints(10, 2));
}

TEST_CASE("streams of the capture around a condition are refused in its body, others that join "
          "there are not") {
    const Drained drained;
    const Stream s(test_device()), other(test_device()), inside(test_device());
    const ScopedStream in(s);
    Array<int> value = full<int>(1, 1), x = zeros<int>(10), y = zeros<int>(10);
    s.synchronize();
    int refused = 0;
    Graph graph = capture([&] {
        other.wait_stream(s);
        capture_if(value, [&] {
            refused += error_of([&] { other.wait_stream(s); }).has_value();
            refused += error_of([&] { fill(other, y, 9); }).has_value();
            refused += error_of([&] { launch(other, Add{}, dim(10), y, 9); }).has_value();
            inside.wait_stream(s);
            launch(inside, Add{}, dim(10), y, 1);
            launch(Add{}, dim(10), x, 1);
            s.wait_stream(inside);
        });
        s.wait_stream(other);
    });
    CHECK(refused == 3);
    graph.launch();
    fill(value, 0);
    graph.launch();
    CHECK(to_host(x) == Ints(10, 1));
    CHECK(to_host(y) == Ints(10, 1));
}

TEST_CASE("outside of a capture too, the stream of a condition is the current one in its body, and "
          "the value "
          "is one int") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedDevice on(test_device());
    Array<int> value = full<int>(s, 1, 1), two = full<int>(s, 2, 1);
    bool was_current = false;
    capture_if(s, value, [&] { was_current = current_stream() == s; });
    CHECK(was_current);
    CHECK(current_stream() != s);
    CHECK(error_of([&] { capture_if(s, two, [] {}); }).has_value());
}

TEST_CASE("an array made on the stream of the condition's outside is refused in its body, and "
          "nothing is lost") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    const ScopedStream in(s);
    Array<int> value = full<int>(1, 1), x = zeros<int>(10);
    s.synchronize();
    Graph graph = capture([&] {
        other.wait_stream(s);
        capture_if(value, [&] {
            CHECK(error_of([&] { const Array<int> made = empty<int>(other, 100); }).has_value());
            launch(Add{}, dim(10), x, 1);
        });
        s.wait_stream(other);
    });
    graph.launch();
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE("a graph with conditions is destroyed without waiting for other streams of its device") {
    const Drained drained;
    const Stream s(test_device()), held(test_device());
    Array<int> value = full<int>(s, 1, 1), x = zeros<int>(s, 10), y = zeros<int>(held, 10);
    held.synchronize();
    Gate gate(held);
    launch(held, Add{}, dim(10), y, 1);
    {
        Graph graph =
            capture(s, [&] { capture_if(s, value, [&] { launch(s, Add{}, dim(10), x, 1); }); });
        graph.launch(s);
        s.synchronize();
        graph.launch(s);  // the graph is destroyed, although this launch may still be running
    }
    CHECK(to_host(s, x) == Ints(10, 2));
    gate.open();
    CHECK(to_host(held, y) == Ints(10, 1));
}
