// Checks of allocating, freeing and reusing memory.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: use_before_allocation_is_ordered", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.allocate(a);
    const Line use = p.write(b, x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::use_before_allocation, 1, use}});
    CHECK(found[0].made == 1);
    CHECK(found[0].allocation_begin == x.data);
}

TEST_CASE("check: raw_view_without_used_on_then_free", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.allocate(a);
    p.wait_stream(b, a);
    const Line use = p.read(b, x.raw());
    const Line free = p.free(a, x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::free_before_use, use, free}});
    CHECK(found[0].allocation == x.id);
    CHECK(found[0].freed == free);
}

TEST_CASE("check: pool_that_hands_over_without_order", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.allocate(a);
    p.write(a, x);
    const Line free = p.free(a, x);
    p.allocate_at(b, x.data);
    p.ops.back().from_own_cache = true;
    CHECK(races(p) == Races{{Kind::reuse, free, free + 1}});
    p.ops.back().from_own_cache = false;  // the driver's pools reuse memory without reports
    CHECK(is_silent(p));
}

TEST_CASE("check: a cache that hands memory on to the host, after its users and without",
          "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.allocate({});
    const Line write = p.write(a, x);
    const Line free = p.free(a, x);
    const Line waits = p.after_users({}, Memory{0, x.data, 100, 0, 1});  // finds x by its address
    const Memory y = p.allocate_at({}, x.data);
    const Line taken = static_cast<Line>(p.ops.size());
    p.ops.back().from_own_cache = true;
    p.write(b, y);
    CHECK(is_silent(p));
    const auto found = p.without(waits).findings();
    REQUIRE_FALSE(found.empty());
    CHECK(found[0].kind == Kind::reuse);
    CHECK((found[0].first.site == free || found[0].first.site == write));
    CHECK(found[0].second.site == taken);
}

TEST_CASE("check: two_root_graph_after_allocation", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.allocate(a);
    p.launch_graph(a, {node({out(x.part(0, 50))}), node({out(x.part(50, 50))})});
    CHECK(is_silent(p));
}

TEST_CASE("check: memory that a capture allocated is the graph's", "[check]") {
    Program p;
    const auto captured = p.stream(), b = p.stream();
    p.mode = OpMode::captured;
    const Memory x = p.allocate(captured);
    p.mode = OpMode::run;
    p.launch_graph(b, {node({out(x)})});
    CHECK(is_silent(p));
}

TEST_CASE("check: memory that heddle does not own is certain on CPU devices", "[check]") {
    // For a GPU, code outside heddle may wait for the first write, free the memory, and allocate it
    // again.
    const bool is_gpu = GENERATE(false, true);
    Program p;
    const Memory foreign = p.array().raw();
    p.write(p.stream(is_gpu ? 1 : 0), foreign);
    p.write(p.stream(2), foreign);
    REQUIRE(p.findings().size() == 1);
    CHECK(p.findings()[0].is_certain == !is_gpu);
    CHECK(p.findings()[0].doubt == (is_gpu ? detail::Doubt::foreign : detail::Doubt::none));
}

TEST_CASE("check: a hundred thousand arrays leave nothing behind", "[check]") {
    detail::CheckEngine engine;
    Program p;
    const auto a = p.stream();
    for (int i = 0; i < 100000; ++i) {
        p.ops.clear();
        const Memory x = p.allocate(a);
        p.write(a, x);
        p.free(a, x);
        for (const CheckOp& op : p.ops) engine.add(op);
    }
    CHECK(engine.findings().empty());
    CHECK(engine.sizes().allocations <= detail::MemoryTable::most_freed + 1);
}
