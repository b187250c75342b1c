// CUPTI's records are matched to operations and nodes. Uses a fake CUPTI.
#include "begun_cupti.hpp"

#include "cuda/timing/native_nodes.hpp"

using namespace heddle_test;
using heddle::detail::cu::NativeNodes;

TEST_CASE("a kernel that CUPTI recorded has its operation's id, and its times") {
    Begun b;
    const std::uint32_t call = b.enqueue(7);
    b.cupti.ran(call, b.at(100), b.at(250));
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].id == 7);
    CHECK(runs[0].node == -1);
    CHECK(runs[0].start_ns == static_cast<std::int64_t>(b.at(100)));
    CHECK(runs[0].end_ns == static_cast<std::int64_t>(b.at(250)));
    CHECK(runs[0].clock == 0);
    CHECK(runs[0].measured_by == DeviceClock::cupti);
    b.session.tell();
    CHECK(b.watch.runs().size() == 1);  // the run was reported once
}

TEST_CASE("copies are found by the runtime's call too, and fills like kernels") {
    Begun b;
    const std::uint32_t outer = b.enqueue(3), inner = b.cupti.call();
    b.cupti.copied(inner, outer, b.at(1), b.at(2));
    b.cupti.filled(b.enqueue(4), b.at(3), b.at(4));
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].id == 3);
    CHECK(runs[1].id == 4);
}

TEST_CASE("CUPTI's records may come in any order, in any buffers") {
    Begun b;
    const std::uint32_t first = b.cupti.call_quietly(), second_call = b.cupti.call_quietly();
    b.cupti.ran(second_call, b.at(30), b.at(40));
    b.cupti.ran(first, b.at(10), b.at(20));
    CHECK(b.told().empty());  // the runs' operations are still unknown
    b.cupti.tell_call(first, 1);
    REQUIRE(b.told().size() == 1);
    CHECK(b.watch.runs()[0].id == 1);
    b.cupti.tell_call(second_call, 2);
    REQUIRE(b.told().size() == 2);
    CHECK(b.watch.runs()[1].start_ns == static_cast<std::int64_t>(b.at(30)));
}

TEST_CASE("one call may enqueue much, and one operation may take many calls") {
    Begun b;
    const std::uint32_t graph = b.enqueue(5);
    for (std::uint64_t i = 0; i < 3; ++i) b.cupti.ran(graph, b.at(i), b.at(i + 1));
    b.session.push(6);
    const std::uint32_t part = b.cupti.call(), other_part = b.cupti.call();
    b.session.pop();
    b.cupti.ran(part, b.at(10), b.at(11));
    b.cupti.ran(other_part, b.at(12), b.at(13));
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK(runs[i].id == (i < 3 ? 5 : 6));
}

TEST_CASE("others' work is not told, and counts as nothing lost") {
    Begun b;
    b.cupti.ran(b.cupti.call(), b.at(1), b.at(2));
    b.cupti.ran(4711, b.at(1), b.at(2));
    CHECK(b.told().empty());
    CHECK(b.session.counts().without_times == 0);
    CHECK(b.session.counts().dropped == 0);
}

TEST_CASE("records without times, or with impossible ones, are left out and counted") {
    Begun b;
    const std::uint32_t call = b.enqueue(7);
    b.cupti.ran(call, 0, 0);
    b.cupti.ran(call, b.at(5), 0);                         // a run that has not ended
    b.cupti.ran(call, b.at(9), b.at(8));                   // a run that ended before it began
    b.cupti.ran(call, b.at(0) - 60 * second_ns, b.at(1));  // a run long ago
    b.cupti.ran(call, b.at(1), b.at(60 * second_ns));      // a run in the far future
    b.cupti.ran(call, ~std::uint64_t{0}, ~std::uint64_t{0} - 1);
    CHECK(b.told().empty());
    CHECK(b.session.counts().without_times == 6);
    b.cupti.ran(call, b.at(1), b.at(1));
    CHECK(b.told().size() == 1);
}

TEST_CASE("records of graphs name the node that they are of, whatever became of it") {
    Begun b;
    int native[8];  // their addresses stand for native nodes
    const auto id = [&](int i) { return reinterpret_cast<std::uint64_t>(&native[i]); };
    auto nodes = std::make_unique<NativeNodes>();
    {
        const NativeNodes::Building building(nodes.get());
        nodes->begin_node(0);
        b.cupti.make_node(&native[0]);
        nodes->begin_node(1);
        b.cupti.make_node(&native[1]);  // an operation with two native nodes
        b.cupti.make_node(&native[2]);
        nodes->begin_node(2);
        b.cupti.copy_node(&native[3], &native[7]);  // a child graph node, whose nodes are copied
        nodes->begin_copies();
        b.cupti.copy_node(&native[4], &native[0]);
        b.cupti.copy_node(&native[5], &native[2]);
        b.cupti.copy_node(&native[6], &native[3]);
    }
    b.cupti.copy_node(&native[7], &native[0]);  // a copy that heddle did not make
    const std::uint32_t call = b.enqueue(9);
    for (int i = 0; i < 8; ++i) b.cupti.ran(call, b.at(10), b.at(11), id(i));
    nodes.reset();
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 8);
    const std::int64_t expected[] = {0, 1, 1, 2, 0, 1, 2, -1};
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(runs[i].id == 9);
        CHECK(runs[i].node == expected[i]);
    }
}

TEST_CASE("nodes of graphs that are gone are forgotten when there are very many") {
    constexpr std::uint64_t base = 1ull << 40;
    std::uint64_t made = 0;
    for (int graph = 0; graph < 300; ++graph) {
        NativeNodes nodes;
        const NativeNodes::Building building(&nodes);
        for (std::uint32_t i = 0; i < 1000; ++i) {
            nodes.begin_node(i);
            NativeNodes::note(&made, nullptr, base + made++);
        }
    }
    CHECK_FALSE(NativeNodes::find(base).has_value());
    CHECK(NativeNodes::find(base + made - 1) == 999u);
}

TEST_CASE("an old call is forgotten when there are many newer ones") {
    heddle::detail::cu::RecordMatcher matcher(100, 10);
    matcher.set_possible(0, 1000);
    for (std::uint32_t call = 1; call <= 300; ++call) matcher.add_call(call, call);
    matcher.add({.call = 1, .start_ns = 1, .end_ns = 2});
    matcher.add({.call = 250, .start_ns = 1, .end_ns = 2});
    const std::vector<OpRun> found = matcher.take();
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == 250);
    for (std::uint32_t i = 0; i < 50; ++i)  // more records than the matcher can store
        matcher.add({.call = 1000 + i, .start_ns = 1, .end_ns = 2});
    for (std::uint32_t i = 0; i < 50; ++i) matcher.add_call(1000 + i, 1000 + i);
    CHECK(matcher.take().size() == 10);
}
