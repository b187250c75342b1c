// Ordering that the checker cannot see, for example ordering established by host functions. Races
// are then reported only as possible.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: host_function_fulfils_a_promise", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const Line write = p.write(a, x);
    const Line function = p.host_function(a);
    const Line read = p.read(b, x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::read_after_write, write, read, false}});
    CHECK(found[0].leak == function);
}

TEST_CASE("check: the same with released/acquired", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    detail::CheckEngine engine;
    p.write(a, x);
    const Line function = p.host_function(a);
    for (const CheckOp& op : p.ops) engine.add(op);
    engine.released(42, p.id_of(function));
    engine.acquired(42, function);
    p.read(b, x);
    engine.add(p.ops.back());
    CHECK(engine.findings().empty());
}

TEST_CASE("check: a host function reads what its stream did", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const Line function = p.host_function(a);
    p.parent = p.id_of(function);
    p.host_read(x);
    CHECK(is_silent(p));
    p.parent = 0;
    CHECK(races(p).empty());
    p.host_read(x);  // not ordered after the function, unless by a flag
    CHECK(races(p).size() == 1);
    CHECK_FALSE(races(p)[0].is_certain);
}

TEST_CASE("check: handed_out_stream_unordered", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const Memory y = p.array();
    const Line before = p.write(a, x);
    const Line handed_out = p.add(OpKind::expose, a);
    const Line after = p.write(a, y);
    const Line read = p.launch(b, {in(x), in(y)});
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::read_after_write, before, read, false},
                                   {Kind::read_after_write, after, read, false}});
    CHECK(found[0].leak == handed_out);
}
