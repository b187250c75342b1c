// How failures are listed, cleared and reported (exactly once). Also tests on_completion().
#include "support.hpp"

#include "core/stream/registry.hpp"

#include <algorithm>
#include <malloc.h>

using namespace heddle_test;

namespace {

std::string cause_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        return heddle_test::cause_of(error);
    }
}

const PoisonedStream* find(const std::vector<PoisonedStream>& all, StreamRef stream) {
    const auto found =
        std::ranges::find_if(all, [&](const auto& one) { return one.stream == stream; });
    return found != all.end() ? &*found : nullptr;
}

/// Waits for pending calls of the report hook. Clears failures that earlier cases left.
void let_all_be_told() { (void)clear_errors(); }

/// Collects only the reports of this test case.
struct OwnReports {
    OwnReports() { let_all_be_told(); }
    Strings causes() const {
        let_all_be_told();
        Strings all;
        for (const Error& error : reports.all()) all.push_back(heddle_test::cause_of(error));
        return all;
    }
    Reports reports;
};

}  // namespace

// Clearing ----------------------------------------------------------------------------------------

TEST_CASE("a wait that was done before clear_error brings the other stream's failure again") {
    const Stream a(test_device()), b(test_device());
    poison(b, "b");
    a.wait_stream(b);
    CHECK_THROWS_AS(a.synchronize(), WorkFailed);
    CHECK(a.clear_error() != nullptr);
    a.wait_stream(b);
    std::atomic<bool> ran{false};
    launch_host(a, [&] { ran = true; });
    CHECK_THROWS_AS(a.synchronize(), WorkFailed);
    CHECK_FALSE(ran);
    CHECK(b.clear_error() != nullptr);
    CHECK(a.clear_error() != nullptr);
    const OpCounter counted;
    a.wait_stream(b);
    CHECK(counted.stats().waits_elided == 1);
}

TEST_CASE("a stream that is cleared while another thread brings failures either works or says that "
          "it does not") {
    const Stream bad(test_device()), s(test_device());
    poison(bad);
    const Event of_bad = bad.record_event();
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            s.wait_event(of_bad);
            std::this_thread::yield();
        }
    });
    const std::size_t rounds = repetitions(HEDDLE_TEST_SANITIZED ? 2'000 : 50'000, 500);
    std::size_t silent = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        (void)s.clear_error();
        std::atomic<bool> ran{false};
        launch_host(s, [&] { ran = true; });
        const auto error = error_of([&] { s.synchronize(); });
        if (!ran && !error && !s.is_poisoned()) ++silent;
    }
    stop = true;
    other.join();
    CHECK(silent == 0);
    (void)s.clear_error();
    std::atomic<bool> ran{false};
    launch_host(s, [&] { ran = true; });
    s.synchronize();
    CHECK(ran);
}

TEST_CASE("a failure that another stream waited for stays that stream's when it is cleared where "
          "it happened") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(a);
    launch_host(a, [] { throw Boom("late"); });
    const Event event = a.record_event();
    b.wait_stream(a);
    gate.open();
    CHECK(a.clear_error() != nullptr);
    CHECK(heddle_test::cause_of(*error_of([&] { b.synchronize(); })) == "late");
    CHECK(heddle_test::cause_of(*error_of([&] { event.synchronize(); })) == "late");
}

TEST_CASE(
    "poisoned_streams lists what failed and what took it over, with their names and failures") {
    let_all_be_told();
    const Stream good(test_device()), a(test_device(), {.name = "a"}),
        b(test_device(), {.name = "b"});
    CHECK(poisoned_streams(test_device()).empty());
    poison(a, "from a");
    b.wait_stream(a);
    CHECK_THROWS_AS(b.synchronize(), WorkFailed);
    const auto poisoned = poisoned_streams(test_device());
    CHECK(poisoned.size() == 2);
    REQUIRE(find(poisoned, a) != nullptr);
    REQUIRE(find(poisoned, b) != nullptr);
    CHECK(find(poisoned, a)->name == "a");
    CHECK(find(poisoned, b)->name == "b");
    CHECK(cause_of(find(poisoned, a)->failure) == "from a");
    CHECK(cause_of(find(poisoned, b)->failure) == "from a");
    CHECK(poisoned_streams().size() == 2);
    CHECK(a.is_poisoned());
    for (const Device& device : test_devices())
        if (device != test_device()) CHECK(poisoned_streams(device).empty());
}

TEST_CASE("a destroyed stream is not among the poisoned ones") {
    const OwnReports told;
    {
        const Stream s(test_device());
        poison(s);
    }
    CHECK(poisoned_streams().empty());
}

TEST_CASE("clear_errors makes all streams of a device usable and returns what it cleared") {
    let_all_be_told();
    const Stream a(test_device()), b(test_device()), c(test_device());
    poison(a, "from a");
    poison(b, "from b");
    const auto cleared = clear_errors(test_device());
    CHECK(cleared.size() == 2);
    REQUIRE(find(cleared, a) != nullptr);
    REQUIRE(find(cleared, b) != nullptr);
    CHECK(cause_of(find(cleared, a)->failure) == "from a");
    CHECK(cause_of(find(cleared, b)->failure) == "from b");
    CHECK(poisoned_streams().empty());
    std::atomic<int> ran{0};
    for (const StreamRef s : {StreamRef(a), StreamRef(b), StreamRef(c)})
        launch_host(s, [&] { ++ran; });
    synchronize_device(test_device());
    CHECK(ran == 3);
    CHECK(clear_errors(test_device()).empty());
}

TEST_CASE("clear_errors waits for failures that are under way") {
    let_all_be_told();
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(a);
    launch_host(a, [] { throw Boom("late"); });
    b.wait_stream(a);
    std::thread opener([&] { gate.open(); });
    const auto cleared = clear_errors();
    opener.join();
    CHECK(cleared.size() == 2);
    CHECK_FALSE(a.is_poisoned());
    CHECK_FALSE(b.is_poisoned());
}

TEST_CASE("clear_errors refuses while a stream of the device is captured, and clears nothing") {
    let_all_be_told();
    const Stream bad(test_device()), captured(test_device());
    poison(bad);
    (void)capture(captured, [&] {
        launch_host(captured, [] {});
        CHECK_THROWS_AS(clear_errors(test_device()), UsageError);
        CHECK_THROWS_AS(clear_errors(), UsageError);
    });
    CHECK(bad.is_poisoned());
    CHECK(clear_errors().size() == 1);
}

TEST_CASE("clear_errors is refused in host functions") {
    const Stream s(test_device());
    launch_host(s, [] { (void)clear_errors(); });
    const Error error = thrown_by([&] { s.synchronize(); });
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), UsageError);
}

// Reporting ---------------------------------------------------------------------------------------

TEST_CASE("a failure that nobody was told of goes to the report hook with its stream, once") {
    const OwnReports told;
    {
        const Stream s(test_device());
        poison(s, "untold");
        CHECK(told.reports.count() == 0);
    }
    CHECK(told.causes() == Strings{"untold"});
}

TEST_CASE("a failure that somebody was told of does not go to the report hook") {
    const OwnReports told;
    {
        const Stream s(test_device());
        poison(s);
        CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    }
    {
        const Stream s(test_device());
        poison(s);
        // heddle may detect the failure just before the driver reports the stream as complete.
        CHECK_THROWS_AS(eventually([&] { return s.is_complete(); }), WorkFailed);
    }
    {
        const Stream s(test_device());
        poison(s);
        CHECK(s.clear_error() != nullptr);
    }
    {
        const Stream s(test_device());
        poison(s);
        CHECK_FALSE(poisoned_streams().empty());
    }
    {
        const Stream s(test_device());
        launch_host(s, [] { throw Boom("boom"); });
        const Event event = s.record_event();
        CHECK_THROWS_AS(event.synchronize(), WorkFailed);
    }
    {
        const Stream s(test_device());
        launch_host(s, [] { throw Boom("boom"); });
        on_completion(s, [](const std::exception_ptr&) {});
    }
    CHECK(told.causes().empty());
}

TEST_CASE("asking whether a stream is poisoned is not being told why") {
    const OwnReports told;
    {
        const Stream s(test_device());
        poison(s, "untold");
        CHECK(s.is_poisoned());
    }
    CHECK(told.causes() == Strings{"untold"});
}

TEST_CASE(
    "a failure that another stream took over goes to the report hook when that one goes untold") {
    const OwnReports told;
    {
        const Stream b(test_device());
        {
            const Stream a(test_device());
            poison(a, "from a");
            b.wait_stream(a);
        }
        finish_work(test_device());
        CHECK(told.reports.count() == 0);
    }
    CHECK(told.causes() == Strings{"from a"});
}

TEST_CASE("a failure that another stream took over and told does not go to the report hook") {
    const OwnReports told;
    Gate gate;
    {
        const Stream b(test_device());
        {
            const Stream a(test_device());
            gate.hold(a);
            launch_host(a, [] { throw Boom("late"); });
            b.wait_stream(a);
        }
        gate.open();
        CHECK(heddle_test::cause_of(*error_of([&] { b.synchronize(); })) == "late");
    }
    CHECK(told.causes().empty());
}

TEST_CASE("a failure waits with the report hook for an event that can still tell it") {
    const OwnReports told;
    {
        std::optional<Event> event;
        {
            const Stream s(test_device());
            launch_host(s, [] { throw Boom("boom"); });
            event = s.record_event();
        }
        finish_work(test_device());
        CHECK(told.reports.count() == 0);
        CHECK_THROWS_AS(event->synchronize(), WorkFailed);
    }
    CHECK(told.causes().empty());
}

TEST_CASE(
    "of two failures that one stream took over the one it did not tell goes to the report hook") {
    const OwnReports told;
    {
        const Stream c(test_device());
        {
            const Stream a(test_device()), b(test_device());
            poison(a, "from a");
            poison(b, "from b");
            c.wait_stream(a);
            c.wait_stream(b);
        }
        CHECK(heddle_test::cause_of(*error_of([&] { c.synchronize(); })) == "from a");
    }
    CHECK(told.causes() == Strings{"from b"});
}

TEST_CASE("streams that failed leave no record behind") {
    const OwnReports told;
    const auto records = [] {
        std::size_t count = 0;
        detail::for_each_stream([&](detail::StreamRecord&) { ++count; });
        return count;
    };
    const std::size_t rounds = repetitions(6'000, 3'000);
    const std::size_t before = records();
    for (std::size_t i = 0; i < rounds; ++i) {
        const Stream s(test_device());
        launch_host(s, [] { throw Boom("boom"); });
        (void)error_of([&] { s.synchronize(); });
    }
    (void)error_of([] { synchronize_device(test_device()); });
    CHECK(records() - before < 2'000);
}

// on_completion -----------------------------------------------------------------------------------

TEST_CASE("on_completion is called in stream order, with null where all went well") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    seen.note(s, "before");
    on_completion(
        s, [&](const std::exception_ptr& failure) { seen.add(failure ? "failed" : "done"); });
    seen.note(s, "after");
    check_held(seen, gate, s, {"before", "done", "after"});
}

TEST_CASE("on_completion runs on a poisoned stream and gets what synchronize() would throw") {
    const Stream a(test_device(), {.name = "first"}), b(test_device(), {.name = "second"});
    poison(a, "boom");
    b.wait_stream(a);
    for (const StreamRef s : {StreamRef(a), StreamRef(b)}) {
        const Flag called;
        std::exception_ptr got;
        on_completion(s, [&](const std::exception_ptr& failure) {
            got = failure;
            called.set();
        });
        REQUIRE(called.wait());
        REQUIRE(got != nullptr);
        const Error thrown = thrown_by([&] { s.synchronize(); });
        try {
            std::rethrow_exception(got);
        } catch (const WorkFailed& error) {
            CHECK(std::string(error.what()) == thrown.what());
        }
        CHECK(s.is_poisoned());
    }
}

TEST_CASE("on_completion gets a failure that happens after it was asked for") {
    DrainedGate gate;
    const Stream s(test_device());
    std::string got;
    gate.hold(s);
    launch_host(s, [] { throw Boom("late"); });
    on_completion(s, [&](const std::exception_ptr& failure) { got = cause_of(failure); });
    gate.open();
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK(got == "late");
}

TEST_CASE(
    "what a function of on_completion throws poisons its stream, unless that failed already") {
    const Stream s(test_device());
    on_completion(s, [](const std::exception_ptr&) { throw Boom("mine"); });
    CHECK(heddle_test::cause_of(*error_of([&] { s.synchronize(); })) == "mine");
    on_completion(s, [](const std::exception_ptr&) { throw Boom("second"); });
    CHECK(heddle_test::cause_of(*error_of([&] { s.synchronize(); })) == "mine");
}

TEST_CASE("on_completion without a stream means the current one") {
    const Here here;
    std::atomic<bool> called{false};
    on_completion(
        [&, owned = std::make_unique<int>(1)](const std::exception_ptr&) { called = *owned == 1; });
    here.stream.synchronize();
    CHECK(called);
}

TEST_CASE("a captured on_completion is called by every launch") {
    const Stream s(test_device());
    std::atomic<int> good{0}, bad{0};
    std::atomic<bool> fail{false};
    Graph graph = capture(s, [&] {
        launch_host(s, [&] {
            if (fail) throw Boom("in the graph");
        });
        on_completion(s, [&](const std::exception_ptr& failure) { ++(failure ? bad : good); });
    });
    CHECK(good + bad == 0);
    graph.launch(s);
    graph.launch(s);
    s.synchronize();
    CHECK(good == 2);
    fail = true;
    graph.launch(s);
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK(bad == 1);
    graph.launch(s);  // this launch is dropped
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK(bad == 2);
    CHECK(good == 2);
    fail = false;
    CHECK(s.clear_error() != nullptr);
    graph.launch(s);
    s.synchronize();
    CHECK(good == 3);
}

TEST_CASE("a captured on_completion gets a failure from before its launch") {
    DrainedGate gate;
    const Stream s(test_device());
    std::string got;
    Graph graph = capture(s, [&] {
        on_completion(s, [&](const std::exception_ptr& failure) { got = cause_of(failure); });
    });
    gate.hold(s);
    launch_host(s, [] { throw Boom("before"); });
    graph.launch(s);
    gate.open();
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK(got == "before");
}

TEST_CASE("on_completion in a batch is called in its turn, on a poisoned stream too") {
    const OrderLog seen;
    const Stream s(test_device());
    Batch batch({.on_cpu = true});
    const auto round = [&] {
        ScopedBatch in(batch, s);
        seen.note(s, "work");
        on_completion(s, [seen](const std::exception_ptr& failure) {
            seen.add(failure ? "failed" : "done");
        });
        in.end();
    };
    round();
    s.synchronize();
    CHECK(seen.seen() == Strings{"work", "done"});
    poison(s);
    round();
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK(seen.seen() == Strings{"work", "done", "failed"});
}

// Memory ------------------------------------------------------------------------------------------

TEST_CASE("an idle CPU stream does not keep the room of a large closure") {
#if HEDDLE_TEST_SANITIZED
    HEDDLE_SKIP("the allocator of sanitizers does not count");
#else
    struct Large {
        char bytes[200'000];
    };
    const auto used = [] {
        const auto info = mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    std::vector<Stream> streams;
    for (int i = 0; i < 20; ++i) streams.emplace_back(cpu_device());
    const auto give_all = [&](auto closure) {
        for (const Stream& s : streams) launch_host(s, closure);
        for (const Stream& s : streams) s.synchronize();
    };
    give_all([] {});
    const std::size_t before = used();
    auto large = std::make_unique<Large>();
    large->bytes[7] = 1;
    give_all([large = *large] { (void)large.bytes[7]; });
    give_all([large = *large] { (void)large.bytes[7]; });
    large = nullptr;
    CHECK(eventually([&] { return used() < before + 1'000'000; }));
#endif
}
