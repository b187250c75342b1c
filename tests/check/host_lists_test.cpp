// Checks of the host: waits, queries, its own accesses, threads, and failures.
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: host_reads_before_synchronize", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.synchronize(a);
    const Line write = p.write(a, x);
    const Line read = p.host_read(x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::host_read_after_write, write, read}});
    CHECK(found[0].second.stream == 0);
    CHECK(found[0].order.kind == KnownOrder::Kind::host_wait);
    CHECK(found[0].order.wait == 3);
}

TEST_CASE("check: eight_threads_own_streams_own_parts", "[check]") {
    Program p;
    const Memory x = p.array(800);
    std::vector<Program::StreamName> streams;
    for (int i = 0; i < 8; ++i) streams.push_back(p.stream());
    for (int round = 0; round < 20; ++round)
        for (std::uint32_t i = 0; i < 8; ++i) {
            p.thread = i;
            p.write(streams[i], x.part(100 * i, 100));
        }
    CHECK(is_silent(p));
}

TEST_CASE("check: poisoned_stream_drops_work", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const Memory y = p.array();
    p.write(a, y);
    const Line dropped = p.add(OpKind::dropped, a);
    p.write(b, x);
    CHECK(is_silent(p));
    p.write(b, y);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);
    CHECK_FALSE(found[0].is_certain);
    CHECK(found[0].leak == dropped);
}

TEST_CASE("check: started_in_the_middle", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const auto event = p.event();
    p.write(a, x);
    p.record(a, event);
    p.wait_stream(b, a);
    p.ops.clear();  // earlier operations are unknown to the checker
    p.wait(b, event);
    p.elided_wait(b, a);
    p.end_synchronize();
    p.write(b, x);
    CHECK(is_silent(p));
    const Line write = p.write(a, x);
    CHECK(races(p) == Races{{Kind::write_after_write, static_cast<Line>(write - 1), write}});
}
