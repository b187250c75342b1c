// Order that the checker cannot see, for example by host functions. Races are then only possible.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

namespace {
Races possible(Kind kind, Line first, Line second) { return {{kind, first, second, false}}; }
}  // namespace

TEST_CASE("check: host_function_fulfils_a_promise", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const Line write = p.write(a, x);
    const Line function = p.host_function(a);
    const Line read = p.read(b, x);
    const auto found = p.findings();
    CHECK(races_of(found) == possible(Kind::read_after_write, write, read));
    CHECK(found[0].leak == function);
}

TEST_CASE("check: the same with released/acquired", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
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

TEST_CASE("check: check_synchronized_after_cudaDeviceSynchronize", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(1), c = p.stream(2);
    const Memory x = p.array();
    detail::CheckEngine engine;
    p.write(a, x.part(0, 10));
    p.write(b, x.part(10, 10));
    for (const CheckOp& op : p.ops) engine.add(op);
    engine.synchronized_stream(a.id, 1);
    p.read(c, x.part(0, 10));
    engine.add(p.ops.back());
    engine.synchronized_device(1, 1);
    p.read(c, x);
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
    p.host_read(x);  // not ordered by the function: a flag may have signalled its end
    CHECK(races(p).size() == 1);
    CHECK_FALSE(races(p)[0].is_certain);
}

TEST_CASE("check: polled_flag_of_atomics", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), flag = p.array();
    const Line write = p.launch(a, {out(x), atomics(flag)});
    p.ops.back().may_signal = true;
    p.launch(b, {atomics(flag)});
    const Line read = p.read(b, x);
    CHECK(races(p) == possible(Kind::read_after_write, write, read));
}

TEST_CASE("check: polled_flag_of_plain_int", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const Line write = p.write(a, x);
    p.ops.back().may_signal = true;  // the callable holds a pointer
    const Line read = p.read(b, x);
    CHECK(races(p) == possible(Kind::read_after_write, write, read));
}

TEST_CASE("check: shared_event_between_processes", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const auto ours = p.event(), theirs = p.event();
    p.event_op(OpKind::export_event, ours);
    p.event_op(OpKind::import_event, theirs);
    p.write(a, x);
    p.record(a, ours);
    p.wait(b, theirs);  // the other process has waited for this one
    p.write(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: exported_memory_without_event", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const auto ours = p.event();
    p.event_op(OpKind::export_event, ours);
    const Line write = p.write(a, x);
    p.record(a, ours);
    const Line read = p.read(b, x);
    CHECK(races(p) == possible(Kind::read_after_write, write, read));
}

TEST_CASE("check: handed_out_stream_with_foreign_kernel", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.add(OpKind::hand_out, a);
    p.wait_stream(b, a);
    p.read(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: handed_out_stream_unordered", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), y = p.array();
    const Line before = p.write(a, x);
    const Line handed_out = p.add(OpKind::hand_out, a);
    const Line after = p.write(a, y);
    const Line read = p.launch(b, {in(x), in(y)});
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::read_after_write, before, read, false},
                                   {Kind::read_after_write, after, read, false}});
    CHECK(found[0].leak == handed_out);
}

TEST_CASE("check: wrapped_stream", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.add(OpKind::wrap, a);
    p.write(a, x);
    p.wait_stream(b, a);
    p.write(b, x);
    CHECK(is_silent(p));
    p.read(a, x);
    CHECK(races(p).size() == 1);  // the first operation is on b, whose handle was not exposed
    CHECK(races(p)[0].is_certain);
}
