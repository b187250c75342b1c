// Copy and fill nodes without elements. They have no effect, but keep the order, like the calls.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("a copy and a fill of no elements are nodes that do nothing and keep the order") {
    const Here here;
    Array<int> x = zeros<int>(10), none = empty<int>(0), also_none = empty<int>(0);
    auto first = fill_node(x, 1);
    auto nothing = copy_node(none, also_none).after(first);
    auto neither = fill_node(x.view().first(0), 9).after(nothing);
    Graph graph = kernel_node(Multiply{}, dim(10), x, 3).after(neither).build();
    for (int launched = 0; launched < 3; ++launched) graph.launch(here.stream);
    CHECK(to_host(x) == Ints(10, 3));
}

TEST_CASE("a node of no elements gets some between launches, and loses them") {
    const Here here;
    Array<int> x = zeros<int>(10), y = full<int>(10, 5);
    auto copied = copy_node(x.view().first(0), y.view().first(0));
    auto filled = fill_node(x.view().last(0), 7).after(copied);
    Graph graph = filled.build();
    graph.launch(here.stream);
    CHECK(to_host(x) == Ints(10, 0));
    copied.between(x.view().first(4), y.view().first(4));
    filled.with(x.view().last(2), 7);
    graph.launch(here.stream);
    CHECK(to_host(x) == Ints{5, 5, 5, 5, 0, 0, 0, 0, 7, 7});
    fill(x, 1);
    copied.between(x.view().first(0), y.view().first(0));
    filled.with(x.view().last(0), 7);
    graph.launch(here.stream);
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE("a node of no elements can be disabled and enabled, cloned, and be a body's") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1);
    auto filled = fill_node(x.view().first(0), 7);
    Graph graph = filled.build();
    graph.launch(here.stream);
    filled.enable(false);
    graph.launch(here.stream);
    filled.enable(true);
    graph.launch(here.stream);
    Graph again = graph.clone();
    again.launch(here.stream);
    Graph choice = if_node(value, graph).build();
    choice.launch(here.stream);
    CHECK(to_host(x) == Ints(10, 0));
}

TEST_CASE("copies of rows of which there are none are nodes, too") {
    const Here here;
    Array<int> x = zeros<int>(12), y = full<int>(12, 5);
    const View2D<int> none(x.view(), 0, 4, 4), other(y.view(), 0, 4, 4);
    Graph graph = copy_2d_node(none, other).build();
    graph.launch(here.stream);
    CHECK(to_host(x) == Ints(12, 0));
}

TEST_CASE("a copy node between sizes that differ is refused, also if one of them is 0") {
    const Here here;
    Array<int> x = zeros<int>(10), none = empty<int>(0);
    CHECK_THROWS_AS(copy_node(x, none), UsageError);
}
