// Long scopes that record one stream are launched in parts (BatchOptions::flush_after).
#include "kernel_launches.hpp"
#include "support.hpp"

#include <stdexcept>

using namespace heddle_test;

namespace {

Batch recorded(std::size_t flush_after = 64) {
    return Batch({.on_cpu = true, .flush_after = flush_after});
}

/// Adds `by` to `x`, `count` times, in a scope. Returns the scope's result.
BatchResult add(Batch& step, Array<int>& x, int count, int by = 1) {
    step.run([&] {
        for (int i = 0; i < count; ++i) launch(Add{}, dim(x.size()), x, by);
    });
    return step.last();
}

}  // namespace

TEST_CASE("a long scope is launched in parts, which are replayed and updated") {
    const Here here;
    struct Row {
        int operations;
        std::size_t graphs;
    };
    for (const Row row : {Row{64, 1}, Row{65, 2}, Row{320, 2}, Row{321, 3}, Row{1344, 3},
                          Row{1345, 4}, Row{3000, 4}}) {
        INFO(row.operations << " operations");
        Array<int> x = zeros<int>(10);
        Batch step = recorded();
        const auto check = [&](int by, BatchOutcome outcome, std::size_t changed) {
            const BatchResult result = add(step, x, row.operations, by);
            CHECK(result.outcome == outcome);
            CHECK(result.graphs == row.graphs);
            CHECK(result.operations == static_cast<std::size_t>(row.operations));
            CHECK(result.changed == changed);
        };
        check(1, BatchOutcome::instantiated, 0);
        check(1, BatchOutcome::replayed, 0);
        check(2, BatchOutcome::updated, static_cast<std::size_t>(row.operations));
        check(2, BatchOutcome::replayed, 0);
        CHECK(step.remembered() == row.graphs);
        CHECK(to_host(x) == Ints(10, 6 * row.operations));
    }
}

TEST_CASE("the first part begins while the scope still records") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Flag ran;
    Batch step = recorded();
    const ScopedBatch in(step);
    launch_host([ran] { ran.set(); });
    for (int i = 0; i < 64; ++i) launch(Add{}, dim(10), x, 1);
    CHECK(eventually([&] { return ran.is_set(); }));
}

TEST_CASE("a scope is not divided if it records several streams or events, or on request") {
    const Here here;
    const Stream other(test_device());
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    here.stream.synchronize();
    Batch whole = recorded(0), two = recorded(), with_event = recorded();
    CHECK(add(whole, x, 2000).graphs == 1);
    two.run([&] {
        other.wait_stream(here.stream);
        for (int i = 0; i < 200; ++i) {
            launch(Add{}, dim(10), x, 1);
            launch(other, Add{}, dim(10), y, 1);
        }
    });
    CHECK(two.last().graphs == 1);
    Event event(test_device());
    with_event.run([&] {
        here.stream.record_event(event);
        for (int i = 0; i < 200; ++i) launch(Add{}, dim(10), x, 1);
    });
    CHECK(with_event.last().graphs == 1);
    CHECK(to_host(x) == Ints(10, 2400));
    CHECK(to_host(other, y) == Ints(10, 200));
}

TEST_CASE("a program chooses when a scope is flushed first") {
    const Here here;
    Array<int> x = zeros<int>(10);
    for (const std::size_t first : {std::size_t{1}, std::size_t{10}, ~std::size_t{0} / 2}) {
        Batch step = recorded(first);
        CHECK(add(step, x, 22).graphs == (first == 1 ? 4 : first == 10 ? 2 : 1));
    }
    CHECK(to_host(x) == Ints(10, 66));
}

TEST_CASE("a batch that keeps one graph keeps all parts of a scope") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step({.remembered = 1, .on_cpu = true});
    for (int i = 0; i < 3; ++i) CHECK(add(step, x, 400).graphs == 3);
    CHECK(step.last().outcome == BatchOutcome::replayed);
    CHECK(step.remembered() == 3);
}

TEST_CASE("a stream that joins a long scope later is ordered after its first part") {
    const Here here;
    const Stream other(test_device());
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    here.stream.synchronize();
    Batch step = recorded();
    for (int round = 1; round <= 3; ++round) {
        step.run([&] {
            for (int i = 0; i < 100; ++i) launch(Add{}, dim(10), x, 1);
            other.wait_stream(here.stream);
            copy(other, y, x);
            for (int i = 0; i < 100; ++i) launch(other, Add{}, dim(10), y, 1);
            here.stream.wait_stream(other);
            for (int i = 0; i < 100; ++i) launch(Add{}, dim(10), x, 1);
        });
        CHECK(step.last().graphs == 2);
        CHECK(to_host(other, y) == Ints(10, 200 * (round - 1) + 200));
        CHECK(to_host(x) == Ints(10, 200 * round));
    }
    CHECK(step.last().outcome == BatchOutcome::replayed);
}

TEST_CASE("work that fails in the first part makes the stream fail") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step = recorded();
    const auto run = [&](bool fails) {
        step.run([&] {
            launch_host([fails] {
                if (fails) throw std::runtime_error("boom");
            });
            for (int i = 0; i < 100; ++i) launch(Add{}, dim(10), x, 1);
        });
    };
    run(true);
    CHECK_THROWS_WITH(here.stream.synchronize(), contains("boom"));
    (void)here.stream.clear_error();
    fill_zero(x);
    run(false);
    CHECK(to_host(x) == Ints(10, 100));
}
