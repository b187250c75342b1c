// Disabled nodes: the other nodes of the graph still run, in order. Tests many shapes of graphs,
// because CUDA has skipped nodes in some of them (docs/adr/0037).
#include "../kernels.hpp"
#include "../random.hpp"
#include "../support.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

using namespace heddle_test;

namespace {

constexpr std::size_t length = 64;

View<int> part(Array<int>& memory, std::size_t i) {
    return memory.view().subview(i * length, length);
}

/// Returns '1' if the whole part is `value`, '0' if it is zero, and '?' otherwise.
char state_of(const Ints& memory, std::size_t i, int value) {
    const auto first = memory.begin() + static_cast<std::ptrdiff_t>(i * length);
    const auto all = [&](int wanted) {
        return std::all_of(first, first + length, [&](int x) { return x == wanted; });
    };
    return all(value) ? '1' : all(0) ? '0' : '?';
}

/// A small graph. Each node writes numbers to its own array. Some nodes are fills, and the others
/// are kernels. An empty node may follow all others.
struct Shape {
    unsigned fills, edges;
    bool has_end;
};

class SmallGraph {
public:
    static constexpr int count = 4, edges = 6;

    SmallGraph(const Shape& shape, Array<int>& memory) {
        unsigned edge = 0;
        for (unsigned i = 0; i < count; ++i) {
            const View<int> x = part(memory, i);
            const auto add = [&](auto node) {
                for (unsigned j = 0; j < i; ++j, ++edge)
                    if ((shape.edges >> edge & 1) != 0) node.after(nodes_[j]);
                nodes_[i] = node;
            };
            if ((shape.fills >> i & 1) != 0) add(fill_node(x, value(i)));
            else add(kernel_node(test_device(), Set{}, dim(length), x, value(i)));
        }
        if (shape.has_end)
            graph_ =
                empty_node(test_device()).after(nodes_[0], nodes_[1], nodes_[2], nodes_[3]).build();
        else graph_ = build({nodes_[0], nodes_[1], nodes_[2], nodes_[3]});
    }

    /// Launches the graph on arrays of zeros. Returns the result of state_of() for each node.
    std::string launch(StreamRef s, Array<int>& memory) {
        fill(s, memory, 0);
        graph_.launch(s);
        const Ints found = to_host(s, memory);
        std::string ran;
        for (unsigned i = 0; i < count; ++i) ran += state_of(found, i, value(i));
        return ran;
    }
    GraphNode& node(int i) { return nodes_[static_cast<std::size_t>(i)]; }

private:
    static int value(unsigned i) { return static_cast<int>(1000 + i); }

    std::array<GraphNode, count> nodes_;
    Graph graph_;
};

/// Calls `f(shape, disabled)` for every small graph and each of its fills. `disabled` is the index
/// of that fill.
template <class F> void for_all(F&& f) {
    for (unsigned fills = 1; fills < 1u << SmallGraph::count; ++fills)
        for (unsigned edges = 0; edges < 1u << SmallGraph::edges; ++edges)
            for (int disabled = 0; disabled < SmallGraph::count; ++disabled)
                for (const bool has_end : {false, true})
                    if ((fills >> disabled & 1) != 0) f(Shape{fills, edges, has_end}, disabled);
}

std::string all_but(int node) {
    std::string ran(SmallGraph::count, '1');
    ran[static_cast<std::size_t>(node)] = '0';
    return ran;
}

struct Large {
    int words[32];  // 128 bytes
    bool operator==(const Large&) const = default;
};
Large repeated(int word) {
    Large made{};
    std::fill(std::begin(made.words), std::end(made.words), word);
    return made;
}

}  // namespace

TEST_CASE("a fill that is disabled before the first launch is all that its graph leaves out") {
    const Here here;
    Array<int> x = zeros<int>(SmallGraph::count * length);
    for_all([&](const Shape& shape, int disabled) {
        SmallGraph graph(shape, x);
        graph.node(disabled).disable();
        CAPTURE(shape.fills, shape.edges, shape.has_end, disabled);
        REQUIRE(graph.launch(here.stream, x) == all_but(disabled));
        graph.node(disabled).enable();
        REQUIRE(graph.launch(here.stream, x) == "1111");
    });
}

TEST_CASE("a fill is disabled and enabled between launches, and the other nodes always run") {
    const Here here;
    Array<int> x = zeros<int>(SmallGraph::count * length);
    for_all([&](const Shape& shape, int disabled) {
        if (shape.edges % 3 != shape.fills % 3) return;  // tests a third of them, to save time
        SmallGraph graph(shape, x);
        CAPTURE(shape.fills, shape.edges, shape.has_end, disabled);
        for (int round = 0; round < 2; ++round) {
            REQUIRE(graph.launch(here.stream, x) == "1111");
            graph.node(disabled).disable();
            REQUIRE(graph.launch(here.stream, x) == all_but(disabled));
            graph.node(disabled).enable();
        }
    });
}

TEST_CASE("chains of fills and kernels run but for the fills that are disabled at the time") {
    const Here here;
    heddle_test::Random random(7);
    constexpr std::size_t chains = 12, links = 6, count = chains * links;
    Array<int> x = zeros<int>(count * length);
    std::vector<FillNode> fills;
    std::vector<std::size_t> places;
    auto end = empty_node(test_device());
    for (std::size_t chain = 0; chain < chains; ++chain) {
        GraphNode last;
        for (std::size_t link = 0; link < links; ++link) {
            const std::size_t place = chain * links + link;
            const auto add = [&](auto node) {
                if (link > 0) node.after(last);
                last = node;
                return node;
            };
            const int value = static_cast<int>(1000 + place);
            if (random.below(2) == 0) {
                fills.push_back(add(fill_node(part(x, place), value)));
                places.push_back(place);
            } else {
                add(kernel_node(test_device(), Set{}, dim(length), part(x, place), value));
            }
        }
        end.after(last);
    }
    Graph graph = end.build();
    std::string expected(count, '1');
    for (int round = 0; round < 60; ++round) {
        for (std::size_t i = round == 0 ? 0 : random.below(4); i > 0; --i) {
            const std::size_t which = random.below(fills.size());
            const bool on = !fills[which].is_enabled();
            fills[which].enable(on);
            expected[places[which]] = on ? '1' : '0';
        }
        fill(here.stream, x, 0);
        graph.launch(here.stream);
        const Ints found = to_host(here.stream, x);
        std::string ran;
        for (std::size_t i = 0; i < count; ++i)
            ran += state_of(found, i, static_cast<int>(1000 + i));
        CAPTURE(round);
        REQUIRE(ran == expected);
    }
}

TEST_CASE("a fill that is disabled and enabled fills the memory that was set meanwhile") {
    const Here here;
    Array<int> x = zeros<int>(64);
    Array<int> y = zeros<int>(64);
    FillNode set = fill_node(x, 1);
    Graph graph = kernel_node(Set{}, dim(1), y.view(), 5).after(set).build();
    graph.launch(here.stream);
    set.disable();
    graph.launch(here.stream);
    set.with(x.view().subview(3, 50), 0x07070707);
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == Ints(64, 1));
    set.enable();
    graph.launch(here.stream);
    Ints expected(64, 1);
    std::fill_n(expected.begin() + 3, 50, 0x07070707);
    CHECK(to_host(here.stream, x) == expected);
}

TEST_CASE("fills of large elements that repeat a word are disabled, enabled and changed") {
    const Here here;
    Array<Large> x = full<Large>(9, repeated(0));
    FillNode set = fill_node(x, repeated(3));
    Graph graph = set.build();
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == std::vector<Large>(9, repeated(3)));
    set.disable();
    set.with(x, repeated(70000));
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == std::vector<Large>(9, repeated(3)));
    set.enable();
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == std::vector<Large>(9, repeated(70000)));
    set.with(x.view().subview(1, 7), repeated(0x05050505));
    graph.launch(here.stream);
    std::vector<Large> expected(9, repeated(0x05050505));
    expected.front() = expected.back() = repeated(70000);
    CHECK(to_host(here.stream, x) == expected);
    Large one = repeated(5);
    one.words[7] = 6;  // so it is not one repeated word
    set.with(x, one);
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == std::vector<Large>(9, one));
}

TEST_CASE("clones and updates of a graph leave out the fills that it leaves out") {
    const Here here;
    Array<int> x = zeros<int>(64), y = zeros<int>(64);
    const auto make = [&](bool on) {
        FillNode set = fill_node(x, 1);
        set.name("set").enable(on);
        return kernel_node(Add{}, dim(64), y.view(), 1).after(set).build();
    };
    const auto sees = [&](Graph& graph, int filled, int added) {
        fill(here.stream, x, 0);
        graph.launch(here.stream);
        CHECK(to_host(here.stream, x) == Ints(64, filled));
        CHECK(to_host(here.stream, y) == Ints(64, added));
    };
    Graph graph = make(true);
    sees(graph, 1, 1);
    graph.update(make(false));
    sees(graph, 0, 2);
    Graph clone = graph.clone();
    sees(clone, 0, 3);
    clone.node("set").enable();
    sees(clone, 1, 4);
    sees(graph, 0, 5);
    graph.update(clone);
    sees(graph, 1, 6);
    clone.node("set").disable();
    sees(clone, 0, 7);
}

TEST_CASE("a kernel of a CPU device in a graph is disabled and enabled, launch by launch") {
    const Here here;
    Array<int> x = pinned<int>(50);
    std::fill(x.begin(), x.end(), 0);
    auto before = kernel_node(test_device(), Add{}, dim(50), x, 1);
    auto middle = kernel_node(cpu_device(), Multiply{}, dim(50), x, 10).after(before);
    auto after = kernel_node(test_device(), Add{}, dim(50), x, 2).after(middle);
    Graph graph = after.build();
    middle.disable();
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == Ints(50, 3));
    middle.enable();
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == Ints(50, 42));
    // Each launch runs the graph as it was at the time of the launch.
    Gate gate(here.stream);
    middle.disable();
    graph.launch(here.stream);
    middle.args(x, 100).enable();
    graph.launch(here.stream);
    middle.disable();
    graph.launch(here.stream);
    Graph clone = graph.clone();
    clone.launch(here.stream);
    gate.open();
    CHECK(to_host(here.stream, x) == Ints(50, (42 + 3 + 1) * 100 + 2 + 3 + 3));
}

TEST_CASE("a kernel of no elements is disabled, enabled and gets elements") {
    const Here here;
    Array<int> x = zeros<int>(20);
    auto add = kernel_node(test_device(), Add{}, dim(0), x, 1);
    auto more = kernel_node(test_device(), Add{}, dim(20), x, 10).after(add);
    Graph graph = more.build();
    const auto sees = [&](int value) {
        graph.launch(here.stream);
        CHECK(to_host(here.stream, x) == Ints(20, value));
    };
    add.disable();
    sees(10);
    add.enable();
    sees(20);
    add.disable();
    add.dim(dim(20));
    sees(30);
    add.enable();
    sees(41);
    add.dim(dim(0));
    sees(51);
    add.disable();
    sees(61);
    add.dim(dim(20));
    add.enable();
    sees(72);
}

TEST_CASE("launches of a graph in which nothing runs are ordered as others are") {
    const Drained drained;
    const Stream a(test_device()), b(test_device()), other(test_device());
    Array<int> x = zeros<int>(a, 10);
    b.wait_stream(a);
    auto add = kernel_node(test_device(), Add{}, dim(10), x, 100);
    Graph graph;
    SECTION("it has no nodes") {
        graph = capture(a, [] {});
    }
    SECTION("its only node is disabled") {
        graph = add.build();
        add.disable();
    }
    SECTION("its only node was disabled between launches") {
        graph = add.build();
        graph.instantiate();
        add.disable();
    }
    graph.launch(a);
    a.synchronize();
    Gate gate(a);
    launch(a, Add{}, dim(10), x, 1);
    graph.launch(a);
    graph.launch(b);
    launch(b, Multiply{}, dim(10), x, 2);
    Array<int> y = full<int>(other, 10, 1);  // other work can run meanwhile
    other.synchronize();
    gate.open();
    b.synchronize();
    CHECK(to_host(a, x) == Ints(10, 2));
}
