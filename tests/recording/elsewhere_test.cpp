// If a capture or batch records nothing while other streams receive work, heddle reports this.
#include <thread>

#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE(
    "a capture of nothing beside which work was enqueued is reported, and says what to write") {
    const Stream s(test_device(), {.name = "captured"}), other(test_device(), {.name = "beside"});
    Array<int> x = zeros<int>(other, 10);
    const Reports reports;
    Graph graph = capture(s, [&] { launch(other, Add{}, dim(10), x, 1); });
    CHECK(to_host(other, x) == Ints(10, 1));
    REQUIRE(reports.count() == 1);
    const std::optional<Error> told = reports.all()[0];
    CHECK(mentions(told, "nothing was captured on 'captured', because work was enqueued directly "
                         "on 'beside', which is not part of the capture"));
    CHECK(mentions(told,
                   "on 'captured', or first make 'beside' wait for 'captured' by wait_stream()"));
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(other, x) == Ints(10, 1));
}

TEST_CASE("a stream that is made in the scope of an empty capture counts, too") {
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    std::optional<Stream> made;
    const Reports reports;
    (void)capture(s, [&] { fill(made.emplace(test_device()), x, 1); });
    CHECK(reports.count() == 1);
    made->synchronize();
}

TEST_CASE("what other threads enqueue in the scope of an empty capture or batch does not count") {
    const Here here;
    const Stream s(test_device()), other(test_device());
    Array<int> x = ready_zeros<int>(other, 10);
    const auto fill_by_another = [&] { std::thread([&] { fill(other, x, 1); }).join(); };
    const Reports reports;
    (void)capture(s, fill_by_another);
    {
        Batch step({.on_cpu = true});
        step.run(fill_by_another);
        CHECK(step.last().outcome == BatchOutcome::nothing);
    }
    CHECK(reports.count() == 0);
    other.synchronize();
}

TEST_CASE("what comes before and after the scope of an empty capture does not count") {
    const Stream s(test_device()), other(test_device());
    Array<int> x = ready_zeros<int>(other, 10);
    const Reports reports;
    fill(other, x, 1);
    Graph none = capture(s, [] {});
    fill(other, x, 2);
    none = capture(s, [&] { launch(other, Add{}, dim(0), x, 1); });  // launches no work
    CHECK(reports.count() == 0);
    other.synchronize();
}

TEST_CASE("of empty captures within each other, the one in whose scope it was enqueued is told") {
    const Stream s(test_device(), {.name = "outer"}), inner(test_device(), {.name = "inner"});
    const Stream other(test_device(), {.name = "beside"});
    Array<int> x = ready_zeros<int>(other, 10);
    const Reports reports;
    (void)capture(s, [&] {
        (void)capture(inner, [] {});
        CHECK(reports.count() == 0);
        (void)capture(inner, [&] { launch(other, Add{}, dim(0), x, 1), fill(other, x, 1); });
        CHECK(reports.count() == 1);
    });
    REQUIRE(reports.count() == 2);
    CHECK(mentions(reports.all()[0],
                   "captured on 'inner', because work was enqueued directly on 'beside'"));
    CHECK(mentions(reports.all()[1],
                   "captured on 'outer', because work was enqueued directly on 'beside'"));
    other.synchronize();
}

TEST_CASE("captures that have work, and those of nothing beside nothing, are not reported") {
    const Stream s(test_device()), other(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(other, 10);
    s.synchronize();
    const Reports reports;
    (void)capture(s, [] {});
    (void)capture(s, [&] {
        fill(s, x, 1);
        fill(other, y, 1);
    });
    (void)capture(s, [&] {
        other.wait_stream(s);
        fill(other, y, 2);
        s.wait_stream(other);
    });
    Array<int> value = ready_zeros<int>(s, 1);
    (void)capture(s, [&] { capture_if(s, value, [] {}); });
    CHECK(reports.count() == 0);
    other.synchronize();
}

TEST_CASE("a batch whose work is all for other streams has it enqueued, and says so") {
    const Here here;
    const Stream other(test_device(), {.name = "beside"});
    Array<int> x = zeros<int>(other, 10);
    const Reports reports;
    {
        Batch step({.on_cpu = true});
        for (int i = 0; i < 3; ++i) step.run([&] { launch(other, Add{}, dim(10), x, 1); });
        CHECK(step.last().outcome == BatchOutcome::eager);
        CHECK(step.last().why.find("streams that had not waited for the batch's") !=
              std::string_view::npos);
        CHECK(reports.count() == 0);
    }
    CHECK(to_host(other, x) == Ints(10, 3));
    REQUIRE(reports.count() == 1);
    CHECK(mentions(reports.all()[0],
                   "this batch has recorded nothing (3 of its scopes were empty), because work was "
                   "enqueued directly on 'beside', which is not part of the batch"));
}

TEST_CASE("a batch that has recorded something once, and one of nothing, are not reported") {
    const Here here;
    const Stream other(test_device());
    Array<int> x = zeros<int>(other, 10), y = zeros<int>(10);
    const Reports reports;
    {
        Batch step({.on_cpu = true}), none({.on_cpu = true});
        step.run([&] { launch(other, Add{}, dim(10), x, 1); });
        step.run([&] { launch(Add{}, dim(10), y, 1); });
        CHECK(step.last().outcome == BatchOutcome::instantiated);
        step.run([&] { launch(other, Add{}, dim(10), x, 1); });
        none.run([] {});
        CHECK(none.last().outcome == BatchOutcome::nothing);
        Batch moved = std::move(none);
        none = std::move(moved);
    }
    CHECK(reports.count() == 0);
    other.synchronize();
}

TEST_CASE("a batch that was moved is reported once") {
    const Here here;
    const Stream other(test_device());
    Array<int> x = zeros<int>(other, 10);
    const Reports reports;
    {
        Batch step({.on_cpu = true});
        step.run([&] { fill(other, x, 1); });
        Batch moved = std::move(step);
        Batch last;
        last = std::move(moved);
        CHECK(reports.count() == 0);
    }
    CHECK(reports.count() == 1);
    other.synchronize();
}
