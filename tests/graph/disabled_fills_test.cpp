// Fills that are disabled: the other nodes of their graphs still run, whatever their order.
#include "../kernels.hpp"
#include "../support.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace heddle_test;

namespace {

/// A graph of four nodes, each with an array of its own: fills, and kernels that put a number.
/// Three numbers describe it: which nodes are fills, which edges there are, which fill is disabled.
class SmallGraph {
public:
    static constexpr int count = 4, edges = 6;
    static constexpr std::size_t length = 64;

    SmallGraph(Device device, unsigned fills, unsigned edges_set, const Array<int>& memory) {
        std::vector<GraphNode> ends;
        unsigned edge = 0;
        for (unsigned i = 0; i < count; ++i) {
            const View<int> x =
                const_cast<Array<int>&>(memory).view().subview(i * length, length);
            const int value = static_cast<int>(10 + i);
            std::vector<GraphNode> first;
            for (unsigned j = 0; j < i; ++j, ++edge)
                if ((edges_set >> edge & 1) != 0) first.push_back(nodes_[j]);
            const auto add = [&](auto node) {
                for (const GraphNode& one : first) node.after(one);
                nodes_.push_back(node);
            };
            if ((fills >> i & 1) != 0) add(fill_node(x, value));
            else add(kernel_node(device, Set{}, dim(length), x, value));
        }
        auto end = empty_node(device);
        for (const GraphNode& node : nodes_) end.after(node);
        graph_ = end.build();
    }

    /// Launches the graph over zeros. Returns which nodes ran, as digits.
    std::string launch(StreamRef s, Array<int>& memory) {
        fill(s, memory, 0);
        graph_.launch(s);
        const Ints found = to_host(s, memory);
        std::string ran;
        for (int i = 0; i < count; ++i) {
            const auto first = found.begin() + i * static_cast<std::ptrdiff_t>(length);
            const auto all = [&](int value) {
                return std::all_of(first, first + length, [&](int x) { return x == value; });
            };
            ran += all(10 + i) ? '1' : all(0) ? '0' : '?';
        }
        return ran;
    }
    GraphNode node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }

private:
    std::vector<GraphNode> nodes_;
    Graph graph_;
};

/// Calls `f(fills, edges, disabled)` for every small graph and every fill in it.
template <class F> void for_all(F&& f) {
    for (unsigned fills = 1; fills < 1u << SmallGraph::count; ++fills)
        for (unsigned edges = 0; edges < 1u << SmallGraph::edges; ++edges)
            for (int disabled = 0; disabled < SmallGraph::count; ++disabled)
                if ((fills >> disabled & 1) != 0) f(fills, edges, disabled);
}

std::string all_but(int node) {
    std::string ran(SmallGraph::count, '1');
    ran[static_cast<std::size_t>(node)] = '0';
    return ran;
}

}  // namespace

TEST_CASE("a fill that is disabled before the first launch is all that its graph leaves out") {
    const Here here;
    Array<int> x = zeros<int>(SmallGraph::count * SmallGraph::length);
    for_all([&](unsigned fills, unsigned edges, int disabled) {
        SmallGraph graph(test_device(), fills, edges, x);
        graph.node(disabled).disable();
        CAPTURE(fills, edges, disabled);
        REQUIRE(graph.launch(here.stream, x) == all_but(disabled));
    });
}

TEST_CASE("a fill is disabled and enabled between launches, and the other nodes always run") {
    const Here here;
    Array<int> x = zeros<int>(SmallGraph::count * SmallGraph::length);
    for_all([&](unsigned fills, unsigned edges, int disabled) {
        if (edges % 3 != fills % 3) return;  // a third of them: each is launched four times
        SmallGraph graph(test_device(), fills, edges, x);
        CAPTURE(fills, edges, disabled);
        REQUIRE(graph.launch(here.stream, x) == "1111");
        graph.node(disabled).disable();
        REQUIRE(graph.launch(here.stream, x) == all_but(disabled));
        graph.node(disabled).enable();
        REQUIRE(graph.launch(here.stream, x) == "1111");
        graph.node(disabled).disable();
        REQUIRE(graph.launch(here.stream, x) == all_but(disabled));
    });
}

TEST_CASE("a fill that is disabled and enabled fills what it was given meanwhile") {
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
