// Parts of arrays: ranges and rows. Also tests how the histories of arrays grow.
#include "check/history.hpp"
#include "check/op_builder.hpp"
#include "check/strided.hpp"
#include "random.hpp"

using namespace heddle_test;

using Kind = FindingKind;
using detail::History;
using detail::Mark;

namespace {

/// A history that one stream fills, so that its accesses are always in order.
struct Alone {
    History history;
    detail::Clock clock;
    detail::HostFloor floor;
    std::vector<detail::Conflict> conflicts;
    detail::Position position = 0;

    void add(const CheckAccess& access, detail::Slot slot = 1) {
        const Mark mark{.epoch = {slot, ++position}, .site = 1, .mode = access.mode};
        history.add(access, mark, {&clock, &floor, slot}, conflicts);
    }
};

}  // namespace

TEST_CASE("check: halves_overlap_by_one_element", "[check]") {
    Program p;
    const Memory x = p.array(100);
    p.write(p.stream(), x.part(0, 51));
    p.write(p.stream(), x.part(50, 50));
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::write_after_write, 1, 2}});
    CHECK(found[0].begin == x.data + 50);
    CHECK(found[0].end == x.data + 51);
}

TEST_CASE("check: chunked_streams_64", "[check]") {
    Program p;
    const Memory x = p.array(64 * 16);
    std::vector<Program::StreamName> streams;
    for (int i = 0; i < 64; ++i) streams.push_back(p.stream());
    for (int round = 0; round < 3; ++round)
        for (std::uint64_t i = 0; i < 64; ++i) p.write(streams[i], x.part(16 * i, 16));
    CHECK(is_silent(p));
    const auto next = p.stream();
    for (std::uint64_t i = 0; i < 64; ++i)
        if (i != 7) p.wait_stream(next, streams[i]);
    p.read(next, x);
    CHECK(races(p).size() == 1);  // the next round uses chunk k without a wait
}

TEST_CASE("check: partial_write_in_the_middle_whole_read", "[check]") {
    Program p;
    const Memory x = p.array(100);
    p.write(p.stream(), x.part(40, 20));
    p.read(p.stream(), x);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);
    CHECK(found[0].begin == x.data + 40);
    CHECK(found[0].end == x.data + 60);
}

TEST_CASE("check: empty_views_never_conflict", "[check]") {
    Program p;
    const Memory empty{0, 0, 0, 0, 1};
    p.write(p.stream(), empty);
    p.write(p.stream(), empty);
    p.host_write(empty);
    CHECK(is_silent(p));
}

TEST_CASE("check: struct_of_views_as_an_argument", "[check]") {
    Program p;
    const Memory x = p.array(), y = p.array();
    Accesses both{in(x), out(y)};
    for (CheckAccess& one : both) one.argument = 2;
    p.launch(p.stream(), both);
    p.write(p.stream(), y);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);
    CHECK(found[0].first.argument == 2);
    CHECK(found[0].allocation == y.id);
}

TEST_CASE("check: ten_thousand_small_copies_stay_linear", "[check]") {
    Alone alone;
    const Memory x{1, 4096, 40000, 0, 1};
    for (int round = 0; round < 5; ++round) {
        for (std::uint64_t i = 0; i < 10000; ++i) alone.add(out(x.part(4 * i, 4)));
        CHECK(alone.history.cells() == 10000);
        alone.add(out(x));
        CHECK(alone.history.cells() == 1);
    }
    CHECK(alone.conflicts.empty());
}

TEST_CASE("check: element_by_element_writes_merge_to_one_cell", "[check]") {
    Alone alone;
    const Memory x{1, 4096, 1000, 0, 1};
    for (std::uint64_t i = 0; i < 1000; ++i) {
        alone.position = 0;  // all accesses belong to one operation
        alone.add(out(x.part(i, 1)));
    }
    CHECK(alone.history.cells() == 1);
}

TEST_CASE("check: what the host knows to be over is forgotten", "[check]") {
    Alone alone;
    const Memory x{1, 4096, 1000, 0, 1};
    for (std::uint64_t i = 0; i < 100; ++i) alone.add(out(x.part(10 * i, 10)));
    alone.floor.raise({1, 100});
    alone.add(in(x), 2);
    CHECK(alone.history.cells() == 1);
    CHECK(alone.conflicts.empty());
    alone.floor.raise({2, 101});
    alone.history.forget_covered(alone.floor);
    CHECK(alone.history.is_empty());
}

TEST_CASE("check: rows are remembered up to a number", "[check]") {
    Alone alone;
    const Memory x{1, 4096, 100000, 0, 1};
    for (std::uint64_t i = 0; i < 100; ++i) alone.add(in(x.columns(i, 1, 1000, 100)));
    CHECK(alone.history.strided() == History::most_strided);
    alone.add(out(x));
    CHECK(alone.history.strided() == 0);
}

TEST_CASE("check: what two accesses in rows have in common is told as rows", "[check]") {
    heddle_test::Random random(7);
    constexpr std::uint64_t pitch = 16;
    std::size_t told_rows = 0;
    for (int i = 0; i < 20000; ++i) {
        const auto access = [&] {
            const auto rows = static_cast<std::uint32_t>(1 + random.below(5));
            CheckAccess made;
            made.data = reinterpret_cast<const void*>(1000 + random.below(60));
            made.bytes = 1 + random.below(12);
            made.rows = rows;
            made.pitch = pitch;
            return made;
        };
        const CheckAccess a = access(), b = access();
        if (detail::overlap_of(a, b) != detail::Overlap::some) continue;
        const auto has = [](const CheckAccess& one, std::uint64_t byte) {
            for (std::size_t row = 0; row < one.rows; ++row)
                if (byte - one.address() - row * pitch < one.bytes) return true;
            return false;
        };
        const detail::CommonBytes common = detail::common_bytes(a, b);
        told_rows += common.rows.rows != 0 ? 1 : 0;
        bool is_right = true;
        for (std::uint64_t byte = 1000; byte < 1200; ++byte) {
            bool is_told = byte >= common.begin && byte < common.end;
            if (common.rows.rows != 0)
                is_told = is_told && (byte - common.begin) % pitch < common.rows.bytes;
            // All common bytes must be reported. If the result and both accesses consist of rows,
            // no other bytes may be reported.
            const bool is_common = has(a, byte) && has(b, byte);
            const bool is_exact = common.rows.rows != 0 && a.is_strided() && b.is_strided();
            is_right = is_right && (is_told == is_common || (is_told && !is_exact));
        }
        REQUIRE(is_right);
    }
    CHECK(told_rows > 1000);
}
