// The checker on parts of arrays, and on memory that is allocated, freed and reused.
#include "check/checked_streams.hpp"

using namespace heddle_test;
using check::RaceKind;

namespace heddle_test {

/// x[first + i] += 1
struct Increment {
    std::size_t first = 0;
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const { x[first + i] += 1; }
};

/// to[i] += from[i] + from[i + apart]
struct AddBoth {
    std::size_t apart;
    HEDDLE_FN void operator()(std::size_t i, View<const int> from, View<int> to) const {
        to[i] += from[i] + from[i + apart];
    }
};

}  // namespace heddle_test

TEST_CASE("device: halves_on_two_streams, halves_overlap_by_one_element") {
    const std::size_t more = GENERATE(std::size_t{0}, std::size_t{1});
    CheckedRun s;
    write(s.a, s.x.view().first(size / 2));
    write(s.b, s.x.view().last(size / 2 + more));
    if (more == 0) return s.checked.expect_silence();
    const check::Race race = s.checked.expect(RaceKind::write_after_write);
    CHECK(race.data == s.x.data() + size / 2 - 1);
    CHECK(race.bytes == sizeof(int));
}

TEST_CASE("device: partial_write_in_the_middle_whole_read") {
    CheckedRun s;
    write(s.a, s.x.view().subview(10, 3));
    read(s.b, s.x, s.y);
    CHECK(s.checked.expect(RaceKind::read_after_write).bytes == 3 * sizeof(int));
}

TEST_CASE("device: empty_views_never_conflict") {
    CheckedRun s;
    write(s.a, s.x);
    launch(s.b, Add{}, dim(0), s.x, 1);
    copy(s.b, s.x.view().first(0), s.z.view().first(0));
    s.checked.expect_silence();
}

TEST_CASE("device: two_columns_of_one_matrix, column_blocks_overlap_by_one") {
    const std::size_t more = GENERATE(std::size_t{0}, std::size_t{1});
    CheckedRun s;
    const auto columns = [&](std::size_t first, std::size_t count) {
        return View2D<int>(s.x.view().subview(first, size - first), 8, count, 8);
    };
    const auto from = [&](Array<int>& array, std::size_t count) {
        return View2D<int>(array.view(), 8, count, 8);
    };
    copy_2d(s.a, columns(0, 4), from(s.y, 4));
    wait_unseen(s.a);
    copy_2d(s.b, columns(4 - more, 4), from(s.z, 4));
    if (more == 0) s.checked.expect_silence();
    else s.checked.expect(RaceKind::write_after_write);
}

TEST_CASE("device: same_array_twice_in_one_launch") {
    CheckedRun s;
    read(s.a, s.x, s.x);
    s.checked.expect_silence();
}

TEST_CASE("device: touching() says which part of a view a kernel uses") {
    const std::size_t more = GENERATE(std::size_t{0}, std::size_t{1});
    CheckedRun s;
    launch(s.a, Increment{}, dim(size / 2), touching(s.x, s.x.view().first(size / 2)));
    wait_unseen(s.a);
    launch(s.b, Increment{size / 2 - more}, dim(size / 2),
           touching(s.x, s.x.view().subview(size / 2 - more, size / 2)));
    if (more == 0) return s.checked.expect_silence();
    const check::Race race = s.checked.expect(RaceKind::write_after_write);
    CHECK(race.data == s.x.data() + size / 2 - 1);
    CHECK(race.bytes == sizeof(int));
    CHECK(race.second.argument == 0);
}

TEST_CASE("device: touching() takes several parts, and rows") {
    CheckedStreams s;
    const View<int> x = s.x;
    Checked checked;
    const auto ends = touching(View<const int>(x), {x.first(8), x.last(8)});
    launch(s.a, AddBoth{size - 8}, dim(8), ends, s.y);
    wait_unseen(s.a);
    launch(s.b, Increment{8}, dim(size - 16), touching(x, x.subview(8, size - 16)));
    const auto columns = touching(s.z, View2D<int>(s.z, 8, 4, 8));
    launch(s.a, Increment{}, dim(1), columns);
    wait_unseen(s.a);
    launch(s.b, Increment{4}, dim(1),
           touching(s.z, View2D<int>(s.z.view().subview(4, size - 4), 8, 4, 8)));
    checked.expect_silence();
}

TEST_CASE("device: touching() nothing, and in nodes, captures and batches") {
    CheckedStreams s;
    const View<int> x = s.x;
    Checked checked;
    write(s.a, x);
    launch(s.b, Increment{}, dim(0), touching(x, x.first(0)));
    s.b.wait_stream(s.a);
    const auto half = touching(x, x.first(size / 2));
    Graph built = kernel_node(Increment{}, dim(size / 2)).args(half).build();
    Graph captured = capture(s.b, [&] { launch(s.b, Increment{}, dim(size / 2), half); });
    built.launch(s.b);
    captured.launch(s.b);
    wait_unseen(s.b);
    {
        Batch batch({.on_cpu = true});
        const ScopedBatch in(batch, s.a);
        launch(s.a, Increment{size / 2}, dim(size / 2), touching(x, x.last(size / 2)));
    }
    checked.expect_silence();
}

TEST_CASE("device: touching() refuses what is not within the view, and too many parts") {
    CheckedStreams s;
    const View<int> x = s.x;
    CHECK_THROWS_AS(touching(x.first(4), x.subview(3, 2)), UsageError);
    CHECK_THROWS_AS(touching(x.last(4), x.first(1)), UsageError);
    CHECK_THROWS_AS(touching(s.y, s.x.view()), UsageError);
    CHECK_THROWS_AS(touching(x.first(10), View2D<int>(x, 2, 2, 9)), UsageError);
    CHECK_THROWS_AS(touching(x, {x, x, x, x, x}), UsageError);
    Array<int> nothing;
    CHECK_THROWS_AS(touching(nothing, x.first(0)), UsageError);
    CHECK_THROWS_AS(concurrent(nothing), UsageError);
    CHECK(touching(x, {x.first(1), x.first(0)}).view().data() == x.data());
}

TEST_CASE("device: concurrent_views_do_not_conflict, concurrent_against_plain") {
    const bool is_plain = GENERATE(false, true);
    CheckedRun s;
    launch(s.a, Increment{}, dim(size), concurrent(s.x));
    wait_unseen(s.a);
    launch(s.b, Increment{}, dim(size), concurrent(s.x.view()));
    wait_unseen(s.b);
    if (is_plain) write(s.c, s.x);
    const check::Summary found = s.checked.end();
    CHECK(found.certain + found.possible == (is_plain ? 2 : 0));
}

TEST_CASE("device: polled_flag_of_atomics") {
    CheckedStreams s;
    Array<int> flag = pinned<int>(1), data = pinned<int>(size);
    synchronize();
    Checked checked;
    copy(s.a, data, s.x);
    launch(s.a, Increment{}, dim(1), concurrent(flag));
    wait_unseen(s.a);  // in practice, the host would poll the flag
    (void)on_host(data);
    const check::Summary found = checked.end();
    CHECK(found.certain == 0);
    CHECK(found.possible == 1);
}

TEST_CASE("device: use_before_allocation_is_ordered, allocation_ordered_by_event") {
    const bool waits = GENERATE(false, true);
    CheckedRun s;
    Array<int> fresh = empty<int>(s.a, size);
    const Event made = s.a.record_event();
    if (waits) s.b.wait_event(made);
    wait_unseen(s.a);
    write(s.b, fresh);
    wait_unseen(s.b);
    if (waits) s.checked.expect_silence();
    else s.checked.expect(RaceKind::use_before_allocation);
}

TEST_CASE("device: array_dies_while_known_users_work") {
    CheckedRun s;
    {
        Array<int> x = empty<int>(s.a, size);
        write(s.a, x);
        s.b.wait_stream(s.a);
        write(s.b, x);
    }
    Array<int> again = empty<int>(s.a, size);  // may be at the same address
    write(s.a, again);
    s.checked.expect_silence();
}

TEST_CASE("device: raw_view_without_used_on_then_free, raw_view_with_used_on") {
    const bool is_said = GENERATE(false, true);
    CheckedRun s;
    Array<int> x = empty<int>(s.a, size);
    s.b.wait_stream(s.a);
    write(s.b, View<int>(x.data(), size));
    if (is_said) x.used_on(s.b);
    x.reset();
    if (is_said) s.checked.expect_silence();
    else s.checked.expect(RaceKind::free_before_use);
}

TEST_CASE("device: moved_array_keeps_history") {
    CheckedRun s;
    write(s.a, s.x);
    Array<int> moved = std::move(s.x);
    write(s.b, moved);
    s.checked.expect(RaceKind::write_after_write);
}

TEST_CASE("device: views_outlive_nothing") {
    CheckedRun s;
    View<int> dangling;
    {
        Array<int> x = empty<int>(s.a, size);
        dangling = x;
    }
    CHECK_THROWS_AS(launch(s.a, Add{}, dim(size), dangling, 1), UsageError);
    s.checked.expect_silence();
}

TEST_CASE("device: ten_thousand_small_copies_stay_linear") {
    CheckedStreams s;
    Array<int> to = zeros<int>(s.a, 10'000), from = zeros<int>(s.a, 10'000);
    s.a.synchronize();
    Checked checked;
    for (std::size_t i = 0; i < 10'000; ++i)
        copy(s.a, to.view().subview(i, 1), from.view().subview(i, 1));
    wait_unseen(s.a);
    s.b.wait_stream(s.a);
    write(s.b, to);
    checked.expect_silence();
}
