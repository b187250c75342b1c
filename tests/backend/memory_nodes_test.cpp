// Memory nodes of graphs, priorities of nodes, fills with elements of any type, and Graph::reset().
#include <atomic>

#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

struct Three {
    int a, b, c;
    bool operator==(const Three&) const = default;
};

/// Appends its own name to `order`. The nodes that do this are not ordered, but one thread runs
/// them. The append is atomic, because ThreadSanitizer only considers the graph's own order.
struct Ticket {
    HEDDLE_FN void operator()(std::size_t, View<int> next, View<int> order, int name) const {
#ifndef __CUDA_ARCH__
        order[static_cast<std::size_t>(std::atomic_ref(next[0]).fetch_add(1))] = name;
#else
        (void)next, (void)order, (void)name;
#endif
    }
};

}  // namespace

TEST_CASE("an allocation's memory is known at once and lives as long as its graph") {
    const Here here;
    Array<int> x = full<int>(100, 2), y = zeros<int>(100);
    Graph graph;
    {
        auto memory = alloc_node<int>(100).name("scratch");
        CHECK(memory.view().data() != nullptr);
        CHECK(memory.size() == 100);
        auto in = copy_node(memory.view(), x).after(memory);
        auto add = kernel_node(Add{}, dim(100), memory.view(), 5).after(in);
        auto out = copy_node(y, memory.view()).after(add);
        graph = free_node(memory).after(out).build();
    }
    REQUIRE(graph.size() == 5);
    CHECK(graph.nodes().at(0).kind == NodeKind::allocate);
    CHECK(graph.nodes().at(4).kind == NodeKind::free);
    CHECK(graph.nodes().at(0).name == "scratch");
    graph.launch();
    graph.launch();
    CHECK(to_host(y) == Ints(100, 7));
}

TEST_CASE("memory of a node that was never built goes with the node") {
    const Here here;
    View<int> view;
    { view = alloc_node<int>(10).view(); }
    CHECK_THROWS_AS(kernel_node(Add{}, dim(10), view, 1), UsageError);
}

TEST_CASE("a clone keeps the memory when the graph is gone, also while it is launched") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> y = ready_zeros<int>(s, 1000);
    Graph clone;
    {
        auto memory = alloc_node<int>(test_device(), 1000);
        auto set = kernel_node(test_device(), Set{}, dim(1000), memory.view(), 3).after(memory);
        auto add = kernel_node(test_device(), AddTo{}, dim(1000), memory.view(), y).after(set);
        Graph graph = add.build();
        clone = graph.clone();
        graph.instantiate();
        gate.hold(s);
        graph.launch(s);
    }
    clone.launch(s);
    clone.reset();
    Array<int> other = full<int>(s, 1000, 100);
    gate.open();
    CHECK(to_host(s, y) == Ints(1000, 6));
}

TEST_CASE("a graph and its clone, which share memory, do not run side by side") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    auto memory = alloc_node<int>(test_device(), 10);
    auto note = host_node(test_device(), [&] { seen.add("ran"); }).after(memory);
    Graph graph = note.build(), clone = graph.clone();
    graph.instantiate();
    clone.instantiate();
    gate.hold(a);
    graph.launch(a);
    clone.launch(b);
    check_held(seen, gate, b, {"ran", "ran"});
}

TEST_CASE("a clone comes after the graph whose stream was closed, too") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream b(test_device());
    auto memory = alloc_node<int>(test_device(), 10);
    auto note = host_node(test_device(), [&] { seen.add("ran"); }).after(memory);
    Graph graph = note.build(), clone = graph.clone();
    {
        const Stream a(test_device());
        gate.hold(a);
        graph.launch(a);
    }
    clone.launch(b);
    check_held(seen, gate, b, {"ran", "ran"});
}

TEST_CASE("freed memory is taken over by one allocation that it is enough for, which comes after") {
    const Here here;
    Array<int> y = zeros<int>(100);
    auto first = alloc_node<int>(100);
    auto set = kernel_node(Set{}, dim(100), first.view(), 7).after(first);
    auto out = kernel_node(AddTo{}, dim(100), first.view(), y).after(set);
    auto freed = free_node(first).after(out);
    auto too_large = alloc_node<int>(101, {.reuse = freed});
    CHECK(too_large.view().data() != first.view().data());
    auto second = alloc_node<int>(50, {.reuse = freed});
    CHECK(second.view().data() == first.view().data());
    auto third = alloc_node<int>(50, {.reuse = freed});
    CHECK(third.view().data() != first.view().data());
    auto again = kernel_node(Set{}, dim(50), second.view(), 1).after(second);
    auto last = kernel_node(AddTo{}, dim(50), second.view(), y).after(again);
    Graph graph = last.build();
    CHECK(graph.size() == 7);
    graph.launch();
    Ints expected(100, 7);
    std::fill_n(expected.begin(), 50, 8);
    CHECK(to_host(y) == expected);
}

TEST_CASE("memory is freed once in a graph") {
    const Here here;
    auto memory = alloc_node<int>(10).name("scratch");
    auto freed = free_node(memory);
    CHECK(mentions(error_of([&] { (void)free_node(memory); }),
                   "'scratch' is already freed by another free_node()"));
}

TEST_CASE("memory of one device is not reused on another", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices");
    auto memory = alloc_node<int>(test_devices()[0], 10);
    auto freed = free_node(memory);
    CHECK(mentions(error_of([&] { alloc_node<int>(test_devices()[1], 10, {.reuse = freed}); }),
                   "reuse memory of the same device"));
}

TEST_CASE("a body of a conditional node may have memory of its own") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 4);
    Graph graph;
    {
        auto memory = alloc_node<int>(10);
        auto set = kernel_node(Set{}, dim(10), memory.view(), 6).after(memory);
        auto add = kernel_node(AddTo{}, dim(10), memory.view(), x).after(set);
        auto count = kernel_node(Add{}, dim(1), value, -1).after(add);
        graph = while_node(value, count.build()).build();
    }
    graph.launch();
    CHECK(to_host(x) == Ints(10, 24));
}

TEST_CASE("a graph that takes over the work of another takes over its memory") {
    const Here here;
    Array<int> y = zeros<int>(10);
    const auto make = [&](int value) {
        auto memory = alloc_node<int>(10);
        auto set = kernel_node(Set{}, dim(10), memory.view(), value).after(memory);
        return kernel_node(AddTo{}, dim(10), memory.view(), y).after(set).build();
    };
    Graph graph = make(1);
    graph.launch();
    graph.update(make(20));
    graph.launch();
    CHECK(to_host(y) == Ints(10, 21));
}

TEST_CASE("a node's priority is shown, within the device's range") {
    const Here here;
    Array<int> x = zeros<int>(10);
    const PriorityRange range = test_device().priorities();
    auto plain = kernel_node(Add{}, dim(10), x, 1);
    auto urgent = kernel_node(Add{}, dim(10), x, 1).priority(range.greatest - 100).after(plain);
    Graph graph = urgent.build();
    CHECK(graph.nodes().at(0).priority == 0);
    CHECK(graph.nodes().at(1).priority == range.greatest);
    CHECK(graph.clone().nodes().at(1).priority == range.greatest);
    plain.priority(-1);
    CHECK(graph.nodes().at(0).priority == -1);
    graph.launch();
    CHECK(to_host(x) == Ints(10, 2));
}

TEST_CASE(
    "priorities of an instantiated graph change on CPU devices, and on CUDA are refused by name") {
    const Here here;
    Array<int> x = zeros<int>(10);
    const auto make = [&](int priority) {
        auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
        add.priority(priority);
        return std::pair(add, add.build());
    };
    auto made = make(0);
    auto& add = made.first;
    Graph& graph = made.second;
    graph.instantiate();
    const Graph more_urgent = make(-1).second;
    if (test_device().is_cuda()) {
        CHECK(mentions(error_of([&] { add.priority(-1); }), "'add'"));
        CHECK(mentions(error_of([&] { graph.update(more_urgent); }), "'add' has another priority"));
    } else {
        add.priority(-1);
        graph.update(more_urgent);
        CHECK(graph.nodes().at(0).priority == -1);
    }
    graph.launch();
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE("among the nodes of a graph that could run on a CPU device, the more urgent run first") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA's scheduler decides");
    const Drained drained;
    const Stream s(test_device());
    constexpr int count = 24;
    Array<int> next = zeros<int>(s, 1), order = zeros<int>(s, count);
    s.synchronize();
    // Keeps all workers but one busy, so that the nodes run one after the other.
    const Flag go;
    std::atomic<int> busy{0};
    std::vector<Stream> others;
    for (int i = 1; i < cpu_workers(); ++i) {
        others.emplace_back(test_device());
        launch_host(others.back(), [&busy, go] {
            ++busy;
            go.wait();
        });
    }
    CHECK(eventually([&] { return busy == cpu_workers() - 1; }));
    auto top = empty_node(test_device());
    auto end = empty_node(test_device());
    for (int i = 0; i < count; ++i)
        end.after(
            kernel_node(test_device(), Ticket{}, dim(1), concurrent(next), concurrent(order), i % 4)
                .priority(-(i % 4))
                .after(top));
    Graph graph = end.build();
    Event done(test_device());
    graph.launch(s);
    done.record(s);
    CHECK(eventually([&] { return done.is_complete(); }));
    go.set();
    Ints expected;
    for (int level = 3; level >= 0; --level) expected.insert(expected.end(), count / 4, level);
    CHECK(to_host(s, order) == expected);
}

TEST_CASE("fills of graphs take elements of any size up to 64 bytes, and change") {
    const Here here;
    SECTION("8 bytes") {
        Array<double> x = zeros<double>(1001), y = zeros<double>(1001);
        auto set = fill_node(x, 0.0);
        Graph graph = set.build();
        graph.launch();
        set.with(x, 1.25);
        graph.launch();
        CHECK(to_host(x) == std::vector<double>(1001, 1.25));
        set.with(y.view().subview(1, 500), -3.5);
        graph.launch();
        std::vector<double> expected(1001, 0.0);
        std::fill_n(expected.begin() + 1, 500, -3.5);
        CHECK(to_host(y) == expected);
    }
    SECTION("12 bytes") {
        Array<Three> x = zeros<Three>(333);
        auto set = fill_node(x, Three{1, 2, 3});
        Graph graph = set.build();
        graph.launch();
        CHECK(to_host(x) == std::vector<Three>(333, Three{1, 2, 3}));
        set.with(x, Three{7, 7, 7});
        graph.launch();
        CHECK(to_host(x) == std::vector<Three>(333, Three{7, 7, 7}));
        set.disable();
        fill_zero(x);
        graph.launch();
        CHECK(to_host(x) == std::vector<Three>(333, Three{}));
    }
    SECTION("in a body") {
        Array<double> x = zeros<double>(100);
        Array<int> value = full<int>(1, 1);
        Graph graph = if_node(value, fill_node(x, 2.5).build()).build();
        graph.launch();
        CHECK(to_host(x) == std::vector<double>(100, 2.5));
    }
}

TEST_CASE("a graph that was reset holds nothing, and what it was launched for goes on") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    auto add = kernel_node(test_device(), Add{}, dim(10), x, 1);
    Graph graph = add.build();
    graph.instantiate();
    gate.hold(s);
    graph.launch(s);
    graph.reset();
    CHECK_FALSE(graph);
    CHECK(mentions(error_of([&] { graph.launch(s); }), "this graph is empty"));
    gate.open();
    CHECK(to_host(s, x) == Ints(10, 1));
    graph = add.build();  // the node no longer belongs to a graph
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(10, 2));
}
