// Checks of graphs and captures.
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

namespace {

std::vector<Finding> findings_in(std::vector<CheckNode> nodes) {
    std::vector<Finding> found;
    detail::check_shape({.id = 1, .nodes = std::move(nodes)}, found);
    return found;
}

/// Pairs of nodes that have a race.
using Nodes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Nodes races_in(std::vector<CheckNode> nodes) {
    Nodes pairs;
    for (const Finding& one : findings_in(std::move(nodes)))
        pairs.emplace_back(one.first.node, one.second.node);
    return pairs;
}

std::vector<CheckNode> diamond(const Memory& x) {
    return {node({out(x)}), node({in(x), out(x.part(0, 50))}, {0}),
            node({out(x.part(50, 50))}, {0}), node({in(x)}, {1, 2})};
}

}  // namespace

TEST_CASE("check: two_nodes_without_edge", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array(100);
    auto shape = std::make_shared<CheckShape>();
    shape->id = p.number();
    shape->nodes = {node({out(x.part(0, 60))}), node({out(x.part(50, 50))})};
    for (int i = 0; i < 3; ++i) p.launch_graph(a, shape, 7);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);  // reported once for all launches
    CHECK(found[0].in_graph);
    CHECK(found[0].is_certain);
    CHECK(found[0].kind == Kind::write_after_write);
    CHECK(found[0].first.node == 0);
    CHECK(found[0].second.node == 1);
    CHECK(found[0].begin == x.data + 50);
    CHECK(found[0].end == x.data + 60);
    CHECK(found[0].shape == shape->id);
}

TEST_CASE("check: diamond", "[check]") {
    Program p;
    const Memory x = p.array(100);
    std::vector<CheckNode> nodes = diamond(x);
    nodes[1].accesses[0] = in(x.part(0, 50));
    CHECK(races_in(nodes).empty());
    CHECK(races_in(diamond(x)) == Nodes{{1, 2}});
}

TEST_CASE("check: each_edge_of_a_diamond_dropped", "[check]") {
    Program p;
    const Memory x = p.array(100);
    std::vector<CheckNode> right = diamond(x);
    right[1].accesses[0] = in(x.part(0, 50));
    for (const std::pair<std::size_t, std::uint32_t> edge :
         {std::pair{1u, 0u}, {2u, 0u}, {3u, 1u}, {3u, 2u}}) {
        std::vector<CheckNode> nodes = right;
        std::erase(nodes[edge.first].after, edge.second);
        CHECK_FALSE(races_in(nodes).empty());
    }
}

TEST_CASE("check: graph_launched_twice_on_two_streams", "[check]") {
    Program p;
    const Memory x = p.array();
    p.launch_graph(p.stream(), {node({out(x)})}, 7);
    p.launch_graph(p.stream(), {node({out(x)})}, 7);  // the node's arguments may have changed
    CHECK(is_silent(p));
}

TEST_CASE("check: two_graphs_on_two_streams", "[check]") {
    Program p;
    const Memory x = p.array();
    p.launch_graph(p.stream(), {node({out(x)})});
    p.launch_graph(p.stream(), {node({in(x)})});
    CHECK(races(p) == Races{{Kind::read_after_write, 1, 2}});
}

TEST_CASE("check: graph_against_plain_launch", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    p.launch_graph(a, {node({in(x.part(0, 9))}), node({out(x.part(9, 4))}, {0})});
    const Line wait = p.wait_stream(b, a);
    const Line write = p.write(b, x);
    CHECK(is_silent(p));  // with a wait, the program is correct
    const auto found = p.without(wait).findings();
    CHECK(races_of(found) ==
          Races{{Kind::write_after_read, 1, write}, {Kind::write_after_write, 1, write}});
}

TEST_CASE("check: capture_is_not_run", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    p.mode = OpMode::captured;
    p.recording = 3;
    p.write(a, x);
    const auto event = p.record(a);
    p.wait(b, event);
    p.copy(b, x, x);
    p.mode = OpMode::run;
    p.host_write(x);
    p.write(p.stream(), x);
    CHECK(p.findings().empty());
}

TEST_CASE("check: captured_branch_not_joined_where_it_matters", "[check]") {
    Program p;
    const Memory x = p.array();
    // A fork. Node 2 uses the branch's data, but only node 3 joins the branch.
    const Nodes found = races_in({node({out(x)}), node({out(x)}, {0}), node({in(x)}, {0}),
                                  node({}, {1, 2}, OpKind::wait_elided)});
    CHECK(found == Nodes{{1, 2}});
}

TEST_CASE("check: capture_over_fork_join", "[check]") {
    Program p;
    const Memory x = p.array(), y = p.array();
    CHECK(races_in({node({out(x), out(y)}), node({out(x)}, {0}), node({out(y)}, {0}),
                    node({in(x), in(y)}, {1, 2})})
              .empty());
}

TEST_CASE("check: if_and_else_write_the_same", "[check]") {
    Program p;
    const Memory x = p.array(), condition = p.array();
    std::vector<CheckNode> nodes{
        node({out(condition)}), node({in(condition)}, {0}, OpKind::graph_launch),
        in_body(node({out(x)}), 1, 0), in_body(node({out(x)}), 1, 1), node({in(x)}, {1})};
    CHECK(races_in(nodes).empty());
    nodes[4].after = {0};
    CHECK(races_in(nodes).size() == 1);
    nodes[4].after = {1};
    nodes[3].alternative = 0;  // both nodes are in the same body
    CHECK(races_in(nodes) == Nodes{{2, 3}});
}

TEST_CASE("check: while_body_writes_each_time", "[check]") {
    Program p;
    const Memory x = p.array(), condition = p.array();
    CHECK(races_in({node({in(condition)}, {}, OpKind::graph_launch), in_body(node({out(x)}), 0, 0),
                    in_body(node({out(condition)}, {1}), 0, 0), node({in(x)}, {0})})
              .empty());
}

TEST_CASE("check: condition_value_written_by_another_stream", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), condition = p.array();
    p.write(b, condition);
    const Line launch = p.launch_graph(
        a, {node({in(condition)}, {}, OpKind::graph_launch), in_body(node({out(x)}), 0, 0)});
    CHECK(races(p) == Races{{Kind::read_after_write, 1, launch}});
}

TEST_CASE("check: event_record_node_orders_another_stream", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory before = p.array(), x = p.array();
    const auto event = p.event();
    p.write(a, before);
    p.launch_graph(a, {node({out(x)}), event_node(OpKind::record, event, {0})});
    p.wait(b, event);
    p.launch(b, {in(x), in(before)});
    CHECK(is_silent(p));
}

TEST_CASE("check: event_record_node_before_the_write", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const Memory y = p.array();
    const auto event = p.event();
    const Line launch = p.launch_graph(
        a, {node({out(y)}), event_node(OpKind::record, event, {0}), node({out(x)}, {1})});
    p.wait(b, event);
    const Line read = p.launch(b, {in(x), in(y)});
    CHECK(races(p) == Races{{Kind::read_after_write, launch, read}});
    p.wait_stream(b, a);
    p.write(b, x);
    CHECK(races(p).size() == 1);
}

TEST_CASE("check: parts of graphs are ordered as their launches are", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array(), y = p.array();
    const auto first = p.event(), second = p.event();
    auto shape = std::make_shared<CheckShape>();
    shape->id = p.number();
    shape->nodes = {node({out(y)}), event_node(OpKind::record, first, {0}), node({out(x)}, {1}),
                    event_node(OpKind::record, second, {2}), node({in(x)}, {3})};
    p.launch_graph(a, shape, 7);
    p.launch_graph(b, shape, 7);
    p.write(b, x);
    CHECK(is_silent(p));
    p.wait(c, second);
    p.write(c, y);
    CHECK(is_silent(p));
    const Line write = p.write(c, x);  // the last node may still be reading
    CHECK(races(p) == Races{{Kind::write_after_write, write - 3, write}});
}

TEST_CASE("check: a wait node orders the nodes behind it only", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const Memory y = p.array();
    const auto event = p.event();
    const Line write = p.launch(a, {out(x), out(y)});
    p.record(a, event);
    const Line launch =
        p.launch_graph(b, {node({in(y)}), event_node(OpKind::wait, event), node({in(x)}, {1})});
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::read_after_write, write, launch}});
    CHECK(found[0].allocation == y.id);
}

TEST_CASE("check: memory_nodes", "[check]") {
    Program p;
    const Memory x = p.array();
    std::vector<CheckNode> nodes{node({out(x)}, {}, OpKind::allocate), node({out(x)}, {0}),
                                 node({out(x)}, {1}, OpKind::free)};
    CHECK(races_in(nodes).empty());
    nodes.push_back(node({in(x)}, {2}));
    const auto found = findings_in(nodes);  // the last node reads the memory after its free node
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == Kind::use_after_free);
    nodes[2].after = {0};
    nodes.pop_back();
    CHECK(findings_in(nodes)[0].kind == Kind::free_before_use);
    nodes[1].after = {};
    CHECK(findings_in(nodes)[0].kind == Kind::use_before_allocation);
}

TEST_CASE("check: prepared_launch_changes_argument", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const Memory y = p.array();
    p.write(b, x);
    const Line first = p.launch_graph(a, {node({in(x)})}, 7);
    p.launch_graph(a, {node({in(y)})}, 7);
    CHECK(races(p) == Races{{Kind::read_after_write, 1, first}});
    p.write(b, y);
    CHECK(races(p).size() == 2);
}

TEST_CASE("check: child_graph_against_sibling", "[check]") {
    Program p;
    const Memory x = p.array();
    const auto child = node({out(x)}, {}, OpKind::graph_launch);  // with all its nodes' accesses
    CHECK(races_in({child, node({in(x)}, {0})}).empty());         // with an edge to the child graph
    CHECK(races_in({child, node({in(x)})}) == Nodes{{0, 1}});
}

TEST_CASE("check: graph_built_before_checking_began", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    p.write(a, x);
    CheckNode unknown = node({});
    unknown.accesses_known = false;
    const Line launch = p.launch_graph(a, {unknown});
    p.read(b, x);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);
    CHECK_FALSE(found[0].is_certain);
    CHECK(found[0].leak == launch);
}

TEST_CASE("check: a graph of a thousand nodes", "[check]") {
    Program p;
    const Memory x = p.array(1000);
    std::vector<CheckNode> nodes{node({out(x)})};
    for (std::uint32_t i = 0; i < 500; ++i) nodes.push_back(node({out(x.part(2 * i, 2))}, {0}));
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 1; i <= 500; ++i) all.push_back(i);
    nodes.push_back(node({in(x)}, all));
    CHECK(races_in(nodes).empty());
    nodes.back().after.pop_back();
    CHECK(races_in(nodes) == Nodes{{500, 501}});
}
