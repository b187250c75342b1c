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

TEST_CASE("check: stream_synchronize", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const Line wait = p.synchronize(a);
    p.host_write(x);
    CHECK(is_silent(p));
    CHECK(races(p.without(wait)) == Races{{Kind::host_write_after_write, 1, 4}});
}

TEST_CASE("check: pageable_source_may_be_overwritten_at_once", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory pageable = p.array(), x = p.array();
    p.copy(a, x, pageable);
    p.reason = WaitReason::copy;
    p.host_read(pageable);
    p.reason = WaitReason::user;
    p.host_write(pageable);
    p.copy(p.stream(), p.array(), pageable);
    CHECK(is_silent(p));
    p.host_write(x);
    CHECK(races(p).size() == 1);  // the copy's other side is in use
}

TEST_CASE("check: pageable memory of the program's own may be overwritten at once", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory pageable = p.array().raw();
    for (const auto stream : {a, b}) {
        p.copy(stream, pageable, p.array());
        p.reason = WaitReason::copy;
        p.host_write(pageable);
        p.reason = WaitReason::user;
    }
    p.host_write(pageable);
    CHECK(is_silent(p));
}

TEST_CASE("check: a copy to pageable memory is over when it returns", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), pageable = p.array().raw();
    p.write(a, x);
    p.copy(a, pageable, x);
    p.reason = WaitReason::copy;
    p.host_write(pageable);
    p.reason = WaitReason::user;
    p.write(b, x);
    p.host_write(pageable);
    CHECK(is_silent(p));
}

TEST_CASE("check: to_host_waits", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory host = p.array();
    p.copy(a, host, p.array());
    p.reason = WaitReason::copy;
    p.synchronize(a);
    p.reason = WaitReason::user;
    p.host_read(host);
    CHECK(is_silent(p));
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
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), y = p.array();
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

TEST_CASE("check: work_after_clear_error", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.add(OpKind::dropped, a);
    const Line write = p.write(a, x);
    const Line read = p.read(b, x);
    CHECK(races(p) == Races{{Kind::read_after_write, write, read}});
}

TEST_CASE("check: started_in_the_middle", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
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
