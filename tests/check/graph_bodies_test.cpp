// The checker on graphs with conditional nodes and child graphs, on the device under test.
#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

using check::Race;
using check::RaceKind;

namespace {

constexpr std::size_t size = 100;

/// Ends the check and returns its races. All must be certain, and no elided wait may be at fault.
std::vector<Race> races_of(Checked& checked) {
    const check::Summary found = checked.end();
    CHECK(found.faults == 0);
    CHECK(found.possible == 0);
    std::vector<Race> races = checked.races();
    for (const Race& one : races) UNSCOPED_INFO(one.text);
    CHECK(found.certain == races.size());
    return races;
}

constexpr unsigned adding_line = __LINE__ + 2;
Graph adding(Array<int>& x, int value) {
    return kernel_node(Add{}, dim(x.size()), x, value).build();
}

/// Arrays of zeros. The current stream is synchronized after they are made.
struct Arrays {
    Here here;
    Array<int> x = zeros<int>(size), y = zeros<int>(size), value = zeros<int>(1);
    Stream other{test_device(), {.name = "other"}};
    Arrays() { here.stream.synchronize(); }
};

}  // namespace

TEST_CASE("if_and_else_write_the_same") {
    Arrays a;
    Checked checked({.strict = true});
    auto first = kernel_node(Add{}, dim(size), a.x, 1);
    auto branch = if_else_node(a.value, adding(a.x, 1), adding(a.x, 2)).after(first);
    Graph graph = kernel_node(Add{}, dim(size), a.x, 3).after(branch).build();
    graph.launch();
    graph.launch(a.other);
    a.other.synchronize();
    CHECK(races_of(checked).empty());
}

TEST_CASE("a body against a node beside the conditional node") {
    Arrays a;
    Checked checked({.strict = true});
    const Graph body = adding(a.x, 1);
    auto first = kernel_node(Add{}, dim(size), a.y, 1);
    auto branch = if_node(a.value, body).after(first);
    auto beside = kernel_node(AddTo{}, dim(size), a.x, a.y).after(first);
    const unsigned line = __LINE__ - 1;
    Graph graph = build({branch, beside});
    graph.launch();  // the value is 0, so sanitizers see no race
    graph.launch();
    synchronize();
    const std::vector<Race> races = races_of(checked);
    REQUIRE(races.size() == 1);
    CHECK(races[0].certain);
    CHECK(races[0].data == a.x.data());
    CHECK(races[0].first.where.line + races[0].second.where.line == adding_line + line);
}

TEST_CASE("a body's nodes against each other") {
    Arrays a;
    Checked checked({.strict = true});
    auto one = kernel_node(Add{}, dim(size), a.x, 1);
    auto two = kernel_node(Add{}, dim(size), a.x, 1);
    SECTION("without an edge") {
        if_node(a.value, build({one, two})).build().launch();
        synchronize();
        CHECK(races_of(checked).size() == 1);
    }
    SECTION("with one") {
        two.after(one);
        if_node(a.value, build({one, two})).build().launch();
        synchronize();
        CHECK(races_of(checked).empty());
    }
}

TEST_CASE("while_body_writes_each_time") {
    Arrays a;
    fill(a.value, 3);
    Checked checked({.strict = true});
    auto add = kernel_node(Add{}, dim(size), a.x, 1);
    auto count = kernel_node(Add{}, dim(1), a.value, -1).after(add);
    auto loop = while_node(a.value, count.build());
    Graph graph = kernel_node(AddTo{}, dim(size), a.x, a.y).after(loop).build();
    graph.launch();
    a.other.wait_stream(a.here.stream);
    launch(a.other, Add{}, dim(size), a.x, 1);
    a.other.synchronize();
    CHECK(to_host(a.y) == Ints(size, 3));
    CHECK(races_of(checked).empty());
}

TEST_CASE("condition_value_written_by_another_stream") {
    Arrays a;
    Checked checked({.strict = true});
    Graph graph = if_node(a.value, adding(a.x, 1)).build();
    launch(a.other, Add{}, dim(1), a.value, 1);
    const unsigned line = __LINE__ - 1;
    wait_unseen(a.other);
    const bool waits = GENERATE(false, true);
    if (waits) a.here.stream.wait_stream(a.other);
    graph.launch();
    const unsigned launch_line = __LINE__ - 1;
    synchronize();
    const std::vector<Race> races = races_of(checked);
    REQUIRE(races.size() == (waits ? 0u : 1u));
    if (waits) return;
    CHECK(races[0].kind == RaceKind::read_after_write);
    CHECK(races[0].first.where.line == line);
    CHECK(races[0].second.where.line == launch_line);
    CHECK(races[0].data == a.value.data());
}

TEST_CASE("what a body accesses against a plain launch") {
    Arrays a;
    fill(a.value, 1);
    a.here.stream.synchronize();
    Checked checked({.strict = true});
    const Graph zero = adding(a.y, 1), one = adding(a.x, 1);
    auto inner = switch_node(a.value, {zero, one});  // a body within a body
    Graph graph = if_node(a.value, inner.build()).build();
    graph.launch();
    const unsigned line = __LINE__ - 1;
    wait_unseen(a.here.stream);
    const bool waits = GENERATE(false, true);
    if (waits) a.other.wait_stream(a.here.stream);
    launch(a.other, Add{}, dim(size), a.x, 1);
    synchronize();
    const std::vector<Race> races = races_of(checked);
    REQUIRE(races.size() == (waits ? 0u : 1u));
    if (waits) return;
    CHECK(races[0].kind == RaceKind::write_after_write);
    CHECK(races[0].first.kind == OpKind::graph_launch);
    CHECK(races[0].first.where.line == line);
    CHECK(races[0].data == a.x.data());
}

TEST_CASE("captured conditions are seen") {
    Arrays a;
    Checked checked({.strict = true});
    Graph graph;
    {
        ScopedCapture capture(a.here.stream);
        capture_if(a.value, [&] { launch(Add{}, dim(size), a.x, 1); }, [&] { fill(a.y, 2); });
        graph = capture.end();
    }
    graph.launch();
    wait_unseen(a.here.stream);
    launch(a.other, Add{}, dim(size), a.x, 1);
    wait_unseen(a.other);
    launch(a.other, Add{}, dim(size), a.y, 1);
    synchronize();
    CHECK(races_of(checked).size() == 2);
}

TEST_CASE("child_graph") {
    Arrays a;
    Checked checked({.strict = true});
    const Graph part = adding(a.x, 1);
    auto first = child_node(part).name("first");
    auto again = child_node(part).after(first);
    Graph graph = kernel_node(AddTo{}, dim(size), a.x, a.y).after(again).build();
    graph.launch();
    a.other.wait_stream(a.here.stream);
    launch(a.other, Add{}, dim(size), a.x, 1);
    synchronize();
    CHECK(to_host(a.y) == Ints(size, 2));
    CHECK(races_of(checked).empty());
}

TEST_CASE("child_graph_against_sibling") {
    Arrays a;
    Checked checked({.strict = true});
    // The condition is false, so sanitizers see no race.
    auto child = child_node(adding(a.x, 1)).name("part");
    auto sibling = kernel_node(AddTo{}, dim(size), a.x, a.y).name("sibling");
    if_node(a.value, build({child, sibling})).build().launch();
    synchronize();
    const std::vector<Race> races = races_of(checked);
    REQUIRE(races.size() == 1);
    CHECK_THAT(races[0].text, contains("part/"));
    CHECK_THAT(races[0].text, contains("sibling"));
}

TEST_CASE("what a child graph accesses against a plain launch") {
    Arrays a;
    Checked checked({.strict = true});
    Graph graph = child_node(adding(a.x, 1)).build();
    launch(a.other, Add{}, dim(size), a.x, 1);
    wait_unseen(a.other);
    graph.launch();
    synchronize();
    const std::vector<Race> races = races_of(checked);
    REQUIRE(races.size() == 1);
    CHECK(races[0].second.kind == OpKind::graph_launch);
    CHECK(races[0].data == a.x.data());
}

TEST_CASE("a plain launch against what a child graph accesses") {
    Arrays a;
    Checked checked({.strict = true});
    child_node(adding(a.x, 1)).build().launch();
    wait_unseen(a.here.stream);
    launch(a.other, Add{}, dim(size), a.x, 1);
    synchronize();
    CHECK(races_of(checked).size() == 1);
}

TEST_CASE("a disabled node accesses nothing") {
    Arrays a;
    Checked checked({.strict = true});
    auto add = kernel_node(Add{}, dim(size), a.x, 1);
    Graph graph = kernel_node(Add{}, dim(size), a.y, 1).after(add).build();
    graph.launch();
    synchronize();
    add.disable();
    launch(a.other, Add{}, dim(size), a.x, 1);
    graph.launch();
    synchronize();
    CHECK(to_host(a.x) == Ints(size, 2));
    CHECK(races_of(checked).empty());
}
