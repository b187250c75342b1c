// Conditional nodes of graphs: if, while and switch, nested bodies, and invalid uses.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

Graph adding(View<int> x, int value) { return kernel_node(Add{}, dim(x.size()), x, value).build(); }

}  // namespace

TEST_CASE("an if node runs its body when the value is not 0, as it is when the node is reached") {
    const Here here;
    Array<int> x = zeros<int>(100), value = zeros<int>(1);
    auto decide = kernel_node(Set{}, dim(1), value, 1);
    auto branch = if_node(value, adding(x, 5)).after(decide);
    auto after = kernel_node(Multiply{}, dim(100), x, 10).after(branch);
    Graph graph = after.build();
    CHECK(graph.size() == 3);
    graph.launch();
    CHECK(to_host(x) == Ints(100, 50));
    decide.args(value, 0);
    graph.launch();
    CHECK(to_host(x) == Ints(100, 500));
    decide.args(value, -7);
    graph.launch();
    CHECK(to_host(x) == Ints(100, 5050));
}

TEST_CASE("an if node with two bodies runs the second when the value is 0") {
    const Here here;
    Array<int> x = zeros<int>(10), value = zeros<int>(1);
    Graph graph = if_else_node(value, adding(x, 1), adding(x, 100)).build();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 100));
    fill(value, 3);
    graph.launch();
    CHECK(to_host(x) == Ints(10, 101));
}

TEST_CASE("a while node reads its value before each pass, and does nothing when it is 0 at once") {
    const Here here;
    Array<int> x = zeros<int>(10), left = full<int>(1, 7);
    auto add = kernel_node(Add{}, dim(10), x, 2);
    auto count = kernel_node(Add{}, dim(1), left, -1).after(add);
    auto loop = while_node(left, count.build());
    auto last = kernel_node(Multiply{}, dim(10), x, 3).after(loop);
    Graph graph = last.build();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 42));
    graph.launch();
    CHECK(to_host(x) == Ints(10, 126));
    CHECK(to_host(left) == Ints{0});
}

TEST_CASE("all ends of a while node's body come before its value is read again") {
    const Here here;
    Array<int> x = zeros<int>(1000), y = zeros<int>(1000), left = full<int>(1, 20);
    auto first = kernel_node(Add{}, dim(1000), x, 1);
    auto second = kernel_node(AddTo{}, dim(1000), x, y).after(first);
    auto count = kernel_node(Add{}, dim(1), left, -1);
    Graph graph = while_node(left, build({second, count})).build();
    graph.launch();
    CHECK(to_host(y) == Ints(1000, 20 * 21 / 2));
}

TEST_CASE("a loop of very many passes runs in one launch") {
    const Here here;
    const int passes = test_device().is_cuda() ? 20'000 : HEDDLE_TEST_TSAN ? 100'000 : 1'000'000;
    Array<int> left = full<int>(1, passes), x = zeros<int>(1);
    auto add = kernel_node(Add{}, dim(1), x, 1);
    auto count = kernel_node(Add{}, dim(1), left, -1).after(add);
    Graph graph = while_node(left, count.build()).build();
    graph.launch();
    CHECK(to_host(x) == Ints{passes});
}

TEST_CASE("a switch node runs the body whose index the value is, and none for other values") {
    const Here here;
    Array<int> x = zeros<int>(10), value = zeros<int>(1);
    const Graph one = adding(x, 1), ten = adding(x, 10), hundred = adding(x, 100);
    Graph graph = switch_node(value, {one, ten, hundred}).build();
    int expected = 0;
    for (const auto& [which, more] :
         {std::pair(0, 1), {2, 100}, {1, 10}, {3, 0}, {-1, 0}, {1 << 30, 0}, {2, 100}}) {
        fill(value, which);
        graph.launch();
        expected += more;
        CHECK(to_host(x) == Ints(10, expected));
    }
}

TEST_CASE("a switch node takes graphs that end with the call") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1);
    Graph graph = switch_node(value, {adding(x, 1), adding(x, 10), adding(x, 100)}).build();
    graph.launch();
    fill(value, 2);
    graph.launch();
    CHECK(to_host(x) == Ints(10, 110));
}

TEST_CASE("bodies may have conditional nodes: loops in loops, and a choice in them") {
    const Here here;
    Array<int> outer = full<int>(1, 5), inner = zeros<int>(1), x = zeros<int>(10),
               y = zeros<int>(10);
    auto count_inner = kernel_node(Add{}, dim(1), inner, -1);
    auto add = kernel_node(Add{}, dim(10), x, 1);
    const Graph inner_body = build({count_inner, add});
    auto reset = kernel_node(Set{}, dim(1), inner, 4);
    auto loop = while_node(inner, inner_body).after(reset);
    auto count_outer = kernel_node(Add{}, dim(1), outer, -1).after(loop);
    auto rarely = if_else_node(inner, adding(y, 1000), adding(y, 1)).after(count_outer);
    Graph graph = while_node(outer, rarely.build()).build();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 20));
    CHECK(to_host(y) == Ints(10, 5));
}

TEST_CASE("a conditional in a child graph, and a body that holds a child graph") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1);
    auto child = child_node(adding(x, 3));
    const Graph body = kernel_node(Multiply{}, dim(10), x, 2).after(child).build();
    const Graph part = if_node(value, body).build();
    Graph graph = child_node(part).build();
    graph.launch();
    CHECK(to_host(x) == Ints(10, 6));
}

TEST_CASE("copies, fills and empty nodes are done in bodies, and what is disabled in one is not") {
    const Here here;
    Array<int> x = full<int>(100, 4), y = zeros<int>(100), value = full<int>(1, 1);
    auto copy = copy_node(y, x);
    auto joint = empty_node().after(copy);
    auto fill_x = fill_node(x, 9).after(joint);
    auto never = kernel_node(Add{}, dim(100), x, 1).after(fill_x);
    never.disable();
    Graph graph = if_node(value, never.build()).build();
    graph.launch();
    CHECK(to_host(y) == Ints(100, 4));
    CHECK(to_host(x) == Ints(100, 9));
}

TEST_CASE("pinned memory may decide, as the host left it when the graph was launched") {
    const Here here;
    Array<int> x = zeros<int>(10), value = pinned<int>(1);
    value[0] = 1;
    Graph graph = if_node(value, adding(x, 1)).build();
    graph.launch();
    here.stream.synchronize();
    value[0] = 0;
    graph.launch();
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE("pinned memory is copied and filled in bodies, whichever device runs them", "[multi]") {
    for (const Device device : test_devices()) {
        CAPTURE(device.name());
        const Stream s(device);
        const ScopedStream in(s);
        const Array<int> value = full<int>(s, 1, 1);
        // The sizes are whole words, multiples of four bytes, and odd numbers of bytes.
        for (const std::size_t n : {std::size_t{64}, std::size_t{33}}) {
            Array<int> from = pinned<int>(n), to = pinned<int>(n), filled = pinned<int>(n);
            Array<int> back = pinned<int>(n), there = zeros<int>(s, n);
            Array<char> bytes = pinned<char>(n + 1), copied = pinned<char>(n + 1);
            std::fill(from.begin(), from.end(), 3);
            std::fill(bytes.begin(), bytes.end(), 'x');
            const GraphNode first = copy_node(to, from);
            const GraphNode second = fill_node(filled, 7).after(first);
            const GraphNode third = copy_node(there, to).after(second);
            const GraphNode fourth = copy_node(back, there).after(third);
            const GraphNode last =
                copy_node(copied.view().subview(1, n), bytes.view().subview(1, n)).after(fourth);
            if_node(value, last.build()).build().launch(s);
            s.synchronize();
            CHECK(Ints(to.begin(), to.end()) == Ints(n, 3));
            CHECK(Ints(filled.begin(), filled.end()) == Ints(n, 7));
            CHECK(Ints(back.begin(), back.end()) == Ints(n, 3));
            CHECK(std::string(copied.begin() + 1, copied.end()) == std::string(n, 'x'));
        }
    }
}

TEST_CASE("a body is the graph as it was when the node was made") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1);
    Graph graph;
    {
        auto add = kernel_node(Add{}, dim(10), x, 1);
        const Graph body = add.build();
        graph = if_node(value, body).build();
        add.args(x, 50);
    }
    graph.launch();
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE("a conditional whose array is gone is refused, by name, and so is a body's array") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1);
    auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
    auto branch = if_node(value, add.build()).name("branch");
    Graph graph = branch.build();
    graph.launch();
    SECTION("the value's") {
        value.reset();
        CHECK(mentions(error_of([&] { graph.launch(); }),
                       "'branch' uses an array that was destroyed"));
    }
    SECTION("a body's") {
        x.reset();
        CHECK(
            mentions(error_of([&] { graph.launch(); }), "'add' uses an array that was destroyed"));
    }
    here.stream.synchronize();
}

TEST_CASE("what cannot be a conditional node is refused when it is built, by name") {
    const Here here;
    Array<int> x = zeros<int>(10), value = zeros<int>(2);
    const Graph body = adding(x, 1);
    SECTION("a value of several elements") {
        auto node = if_node(value, body).name("two");
        CHECK(mentions(error_of([&] { (void)node.build(); }), "'two' needs a view of one int"));
    }
    SECTION("a value in pageable memory") {
        const Ints host(1);
        auto node = if_node(View<const int>(host), body).name("host");
        CHECK(mentions(error_of([&] { (void)node.build(); }),
                       "'host' has a value in pageable memory"));
    }
    SECTION("an empty body") {
        auto node = if_else_node(value.view().first(1), body, Graph()).name("half");
        CHECK(mentions(error_of([&] { (void)node.build(); }), "'half' has an empty body (1)"));
    }
    SECTION("no bodies") {
        auto node = switch_node(value.view().first(1), {}).name("nothing");
        CHECK(mentions(error_of([&] { (void)node.build(); }), "'nothing' has no bodies"));
    }
    SECTION("events in a body") {
        Event event(test_device());
        auto record = record_node(event).name("told");
        auto node = if_node(value.view().first(1), record.build()).name("branch");
        const auto error = error_of([&] { (void)node.build(); });
        CHECK(mentions(error, "'branch'"));
        CHECK(mentions(error, "'told'"));
    }
}

TEST_CASE("a body of another device than its value's is refused") {
    if (!test_device().is_cuda()) HEDDLE_SKIP("CPU devices are one to graphs");
    const Here here;
    Array<int> value = zeros<int>(1);
    const Graph body = host_node(cpu_device(), [] {}).build();
    auto node = if_node(value, body).name("branch");
    CHECK(
        mentions(error_of([&] { (void)node.build(); }), "'branch' is on " + test_device().name()));
}

TEST_CASE(
    "a conditional of a CPU device is refused in a graph of a CUDA device, in a child graph too") {
    if (!test_device().is_cuda()) HEDDLE_SKIP("needs both kinds of devices");
    const Here here;
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(10), value = zeros<int>(s, 1);
    s.synchronize();
    const Graph body = empty_node(cpu_device()).build();
    auto branch = if_node(value, body).name("branch");
    auto child = child_node(branch.build());
    auto last = kernel_node(Add{}, dim(10), x, 1).after(child);
    CHECK(mentions(error_of([&] { (void)last.build(); }), "'branch' is on " + cpu_device().name()));
}

TEST_CASE("host functions in bodies run on CPU devices, and CUDA's graphs refuse them by name") {
    const Here here;
    Array<int> value = full<int>(1, 3);
    int calls = 0;
    auto call = host_node([&] { ++calls; }).name("call");
    auto count = kernel_node(Add{}, dim(1), value, -1).after(call);
    Graph graph = while_node(value, count.build()).name("loop").build();
    if (test_device().is_cuda()) {
        const Error error = thrown_by([&] { graph.instantiate(); });
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(mentions(error, "'call'"));
    } else {
        graph.launch();
        here.stream.synchronize();
        CHECK(calls == 3);
    }
}

TEST_CASE("a failure in a body fails the graph: a loop ends, and what comes after is not done") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA runs no host functions in bodies");
    const Drained drained;
    const Stream s(test_device());
    Array<int> value = ready_full<int>(s, 1, 1);
    int passes = 0;
    bool after = false;
    auto fails = host_node(test_device(), [&] {
        if (++passes == 3) throw Boom("third");
    });
    auto loop = while_node(value, fails.build());
    Graph graph = host_node(test_device(), [&] { after = true; }).after(loop).build();
    graph.launch(s);
    CHECK(cause_of(thrown_by([&] { s.synchronize(); })) == "third");
    CHECK(passes == 3);
    CHECK_FALSE(after);
}

TEST_CASE("a loop ends when something beside it fails") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA runs no host functions in bodies");
    const Drained drained;
    const Stream s(test_device());
    Array<int> value = ready_full<int>(s, 1, 1);
    Event opened(test_device());
    const Stream other(test_device());
    Gate gate(other);
    opened.record(other);
    int passes = 0;
    auto call = host_node(test_device(), [&] {
        if (++passes == 10) gate.open();
    });
    auto inner = while_node(value, call.build());
    auto loop = while_node(value, inner.build());
    auto wait = wait_node(opened);
    auto fails = host_node(test_device(), [] { throw Boom("beside"); }).after(wait);
    Graph graph = build({loop, fails});
    graph.launch(s);
    CHECK(cause_of(thrown_by([&] { s.synchronize(); })) == "beside");
    CHECK(passes >= 10);
}

TEST_CASE("a loop waits for what another stream does, even with one worker") {
    if (test_device().is_cuda())
        HEDDLE_SKIP("on CUDA such a loop may keep the other stream from running");
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Array<int> value = pinned<int>(1);
    value[0] = 1;
    const Flag inside;
    const Graph body = host_node(test_device(), [inside] { inside.set(); }).build();
    Graph graph = while_node(value, body).build();
    Event done(test_device());
    graph.launch(s);
    done.record(s);
    REQUIRE(inside.wait());
    int* const flag = value.data();
    launch_host(other, [flag] { std::atomic_ref(*flag).store(0); });
    const bool ended =
        eventually([&] { return done.is_complete(); });  // polls, so it runs no work itself
    std::atomic_ref(*flag).store(0);
    s.synchronize();
    CHECK(ended);
}

TEST_CASE(
    "clones of conditional graphs are their own, and updates take over bodies of the same shape") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1), other_value = zeros<int>(1);
    const auto make = [&](View<int> decides, int more, bool twice) {
        auto add = kernel_node(Add{}, dim(10), x, more).name("add");
        auto again = kernel_node(Add{}, dim(10), x, more).name("again").after(add);
        return if_node(decides, twice ? again.build() : add.build()).name("branch").build();
    };
    Graph graph = make(value, 1, false);
    Graph clone = graph.clone();
    graph.launch();
    graph.update(make(value, 10, false));
    graph.launch();
    CHECK(to_host(x) == Ints(10, 11));
    clone.launch();
    CHECK(to_host(x) == Ints(10, 12));
    const auto error = error_of([&] { graph.update(make(value, 10, true)); });
    CHECK(mentions(error, "'branch' has a different body 0 in the other graph"));
    graph.update(make(other_value, 1000, false));
    graph.launch();
    CHECK(to_host(x) == Ints(10, 12));
}

TEST_CASE("launches of a graph stay one after the other when a body was updated between them") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, 10), value = full<int>(a, 1, 1);
    a.synchronize();
    const auto make = [&](auto kernel, int by) {
        return if_node(value, kernel_node(test_device(), kernel, dim(10), x, by).build()).build();
    };
    Graph graph = make(Add{}, 1);
    const Graph twice = make(Multiply{}, 2);
    graph.instantiate();
    gate.hold(a);
    graph.launch(a);
    graph.update(twice);
    graph.launch(b);
    finish_work(test_device());
    gate.open();
    a.synchronize();
    b.synchronize();
    CHECK(to_host(a, x) == Ints(10, 2));
}

TEST_CASE("conditional graphs are looked at: kinds, and bodies as clusters") {
    const Here here;
    Array<int> x = zeros<int>(10), value = zeros<int>(1);
    auto branch = if_else_node(value, adding(x, 1), adding(x, 2)).name("branch");
    Graph graph = branch.build();
    CHECK(graph.nodes().at(0).kind == NodeKind::conditional);
    CHECK(std::string(to_string(NodeKind::conditional)) == "conditional");
    const std::string dot = graph.dot();
    CHECK(dot.find("branch: then") != std::string::npos);
    CHECK(dot.find("branch: else") != std::string::npos);
    CHECK(dot.find("subgraph cluster_n0_1") != std::string::npos);
    CHECK(dot.find("n0_1_0 [label") != std::string::npos);
}

TEST_CASE("many conditional graphs run on many threads at once") {
    const Drained drained;
    std::atomic<int> wrong{0};
    on_threads(4, [&] {
        const Stream s(test_device());
        for (int i = 0; i < 10; ++i) {
            Array<int> x = zeros<int>(s, 200), left = full<int>(s, 1, 50);
            auto first = kernel_node(test_device(), Add{}, dim(200), x, 1);
            auto count = kernel_node(test_device(), Add{}, dim(1), left, -1);
            auto join = empty_node(test_device()).after(first, count);
            Graph graph = while_node(left, join.build()).build();
            graph.launch(s);
            wrong += to_host(s, x) != Ints(200, 50);
        }
    });
    CHECK(wrong == 0);
}
