// Failed work: later work is dropped, certain calls throw the failure, and streams can recover.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("a host function that throws poisons its stream") {
    const Stream s(test_device());
    CHECK_FALSE(s.is_poisoned());
    poison(s, "first");
    CHECK(s.is_poisoned());
    const Error error = thrown_by([&] { s.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK(cause_of(error) == "first");
}

TEST_CASE("whatever a host function throws is kept") {
    const Stream s(test_device());
    launch_host(s, [] { throw 42; });
    const Error error = thrown_by([&] { s.synchronize(); });
    REQUIRE(error.cause() != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), int);
}

TEST_CASE("a heddle error thrown by a host function is the cause") {
    const Stream s(test_device());
    launch_host(s, [] { synchronize(); });
    const Error error = thrown_by([&] { s.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), UsageError);
}

TEST_CASE("later work on a poisoned stream is dropped, silently and counted") {
    const OrderLog seen;
    const Stream s(test_device());
    Array<int> x = full<int>(s, 10, 1), y = full<int>(s, 10, 2);
    s.synchronize();
    poison(s);
    const OpCounter counted;
    seen.note(s, "host function");
    launch(s, Add{}, dim(10), x, 5);
    fill(s, x, 7);
    copy(s, x, y);
    CHECK(counted.stats().dropped == 4);
    CHECK(counted.stats().launches == 0);
    const Stream other(test_device());
    finish_work(test_device());
    CHECK(to_host(other, x) == std::vector<int>(10, 1));
    CHECK(seen.seen().empty());
}

TEST_CASE("on a CPU device work that was enqueued before the failure happened is dropped too") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream s(cpu_device());
    Array<int> x = full<int>(s, 10, 1), y = full<int>(s, 10, 2);
    s.synchronize();
    gate.hold(s);
    launch_host(s, [] { throw Boom("boom"); });
    seen.note(s, "host function");
    launch(s, Add{}, dim(10), x, 5);
    fill(s, x, 7);
    copy(s, x, y);
    gate.open();
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    const Stream other(cpu_device());
    CHECK(to_host(other, x) == std::vector<int>(10, 1));
    CHECK(seen.seen().empty());
}

TEST_CASE("work before the failure has run") {
    const OrderLog seen;
    const Stream s(test_device());
    seen.note(s, "before");
    launch_host(s, [] { throw Boom("boom"); });
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK(seen.seen() == Strings{"before"});
}

TEST_CASE("the first error wins") {
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    launch_host(s, [] { throw Boom("first"); });
    launch_host(s, [] { throw Boom("second"); });
    gate.open();
    CHECK(cause_of(thrown_by([&] { s.synchronize(); })) == "first");
    launch_host(s, [] { throw Boom("third"); });
    CHECK(cause_of(*error_of([&] { s.synchronize(); })) == "first");
}

TEST_CASE("every synchronisation on a poisoned stream throws its failure") {
    const Stream s(test_device());
    const Event before = s.record_event();
    before.synchronize();
    launch_host(s, [] { throw Boom("boom"); });
    const Event after = s.record_event();
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    CHECK_THROWS_AS(synchronize_stream(s), WorkFailed);
    CHECK_THROWS_AS(s.is_complete(), WorkFailed);
    CHECK_THROWS_AS(after.synchronize(), WorkFailed);
    CHECK_THROWS_AS(after.is_complete(), WorkFailed);
    CHECK_THROWS_AS(synchronize_device(test_device()), WorkFailed);
    CHECK_THROWS_AS(synchronize(), WorkFailed);
    Array<int> x = zeros<int>(default_stream(test_device()), 4);
    CHECK_THROWS_AS(to_host(s, x), WorkFailed);
    before.synchronize();  // the failure does not affect work that was complete
    CHECK(before.is_complete());
}

TEST_CASE("synchronising a device says what failed, and other streams go on") {
    const Stream s(test_device(), {.priority = 0, .name = "failing"}), other(test_device());
    poison(s);
    CHECK(thrown_by([] { synchronize_device(test_device()); }).stream() == "failing");
    std::atomic<bool> ran{false};
    launch_host(other, [&] { ran = true; });
    other.synchronize();
    CHECK(ran);
    CHECK_FALSE(other.is_poisoned());
}

TEST_CASE("a stream that waits for a poisoned one is poisoned with the same failure") {
    const OrderLog seen;
    const Stream a(test_device(), {.priority = 0, .name = "origin"}), b(test_device()),
        c(test_device());
    poison(a, "from a");
    b.wait_stream(a);
    seen.note(b, "b");
    c.wait_stream(b);
    seen.note(c, "c");
    const Error error = thrown_by([&] { c.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK(error.stream() == "origin");
    CHECK(cause_of(error) == "from a");
    CHECK(cause_of(*error_of([&] { b.synchronize(); })) == "from a");
    CHECK(seen.seen().empty());
}

TEST_CASE("a stream that waited before the failure happened is poisoned by it too") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device()), c(test_device());
    gate.hold(a);
    launch_host(a, [] { throw Boom("late"); });
    b.wait_stream(a);
    seen.note(b, "b");
    const Event event = b.record_event();
    c.wait_event(event);
    seen.note(c, "c");
    gate.open();
    CHECK(cause_of(*error_of([&] { c.synchronize(); })) == "late");
    CHECK(cause_of(*error_of([&] { b.synchronize(); })) == "late");
    CHECK_THROWS_AS(event.synchronize(), WorkFailed);
    CHECK(seen.seen().empty());
}

TEST_CASE("a wait on what was done before the failure does not bring it in") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    launch_host(a, [] {});
    const Event good = a.record_event();
    gate.hold(a);
    launch_host(a, [] { throw Boom("boom"); });
    b.wait_event(good);
    gate.open();
    CHECK_THROWS_AS(a.synchronize(), WorkFailed);
    launch_host(b, [] {});
    b.synchronize();
    CHECK_FALSE(b.is_poisoned());
}

TEST_CASE("a stream that waits for several failed ones has one of their failures") {
    const Stream a(test_device()), b(test_device()), c(test_device());
    poison(a, "from a");
    poison(b, "from b");
    c.wait_stream(a);
    c.wait_stream(b);
    CHECK(cause_of(*error_of([&] { c.synchronize(); })) == "from a");
}

TEST_CASE("clear_error gives the failure back and makes the stream usable") {
    const OrderLog seen;
    const Stream s(test_device());
    poison(s, "boom");
    seen.note(s, "dropped");
    const std::exception_ptr failure = s.clear_error();
    REQUIRE(failure != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(failure), WorkFailed);
    CHECK_FALSE(s.is_poisoned());
    s.synchronize();
    seen.note(s, "after");
    s.synchronize();
    CHECK(seen.seen() == Strings{"after"});
    CHECK(s.is_complete());
    CHECK(s.clear_error() == nullptr);
}

TEST_CASE("clear_error waits for the stream") {
    DrainedGate gate;
    const Stream s(test_device());
    std::atomic<bool> ran{false};
    gate.hold(s);
    launch_host(s, [&] {
        ran = true;
        throw Boom("boom");
    });
    std::thread opener([&] { gate.open(); });
    const std::exception_ptr failure = s.clear_error();
    opener.join();
    CHECK(ran);
    CHECK(failure != nullptr);
}

TEST_CASE("a stream may fail again after it was cleared") {
    const Stream s(test_device());
    for (int i = 0; i < 5; ++i) {
        poison(s, std::to_string(i));
        CHECK(cause_of(*error_of([&] { s.synchronize(); })) == std::to_string(i));
        CHECK(s.clear_error() != nullptr);
    }
}

TEST_CASE("a stream that took over a failure is cleared on its own") {
    const Stream a(test_device()), b(test_device());
    poison(a);
    b.wait_stream(a);
    CHECK_THROWS_AS(b.synchronize(), WorkFailed);
    CHECK(b.clear_error() != nullptr);
    CHECK_FALSE(b.is_poisoned());
    CHECK(a.is_poisoned());
    std::atomic<bool> ran{false};
    launch_host(b, [&] { ran = true; });
    b.synchronize();
    CHECK(ran);
    CHECK(a.clear_error() != nullptr);
    b.wait_stream(a);
    launch_host(b, [] {});
    b.synchronize();
}

TEST_CASE("arrays are freed on poisoned streams too, and their memory works again") {
    const Stream s(test_device());
    for (int i = 0; i < 20; ++i) {
        {
            Array<int> x = full<int>(s, 100'000, 1);
            poison(s);
            fill(s, x, 2);
        }
        CHECK(s.clear_error() != nullptr);
        Array<int> y = full<int>(s, 100'000, 3);
        CHECK(to_host(s, y)[99'999] == 3);
    }
}

TEST_CASE(
    "an array allocated on a poisoned stream can be used by others once the stream was cleared") {
    const Stream s(test_device());
    poison(s);
    Array<int> x = zeros<int>(s, 10);
    CHECK(s.clear_error() != nullptr);
    fill(s, x, 1);
    CHECK(to_host(s, x) == std::vector<int>(10, 1));
}

TEST_CASE(
    "a scope on a poisoned stream is entered and left without a fuss, and its work is dropped") {
    const OrderLog seen;
    const Reports reports;
    const Stream s(test_device());
    poison(s);
    {
        const ScopedStream in{s};
        seen.note(current_stream(), "dropped");
    }
    finish_work(test_device());
    CHECK(seen.seen().empty());
    CHECK(reports.count() == 0);
}

TEST_CASE("entering a scope from a poisoned stream brings the failure with it") {
    const Stream outer(test_device()), inner(test_device());
    poison(outer, "outer failed");
    const ScopedStream in{outer, {.wait_on_enter = false}};
    const ScopedStream in_inner{inner};
    launch_host([] {});
    CHECK(cause_of(*error_of([&] { inner.synchronize(); })) == "outer failed");
}

TEST_CASE("a poisoned stream may be destroyed, and the next stream is not poisoned") {
    const Reports reports;
    for (int i = 0; i < 50; ++i) {
        const Stream s(test_device());
        CHECK_FALSE(s.is_poisoned());
        launch_host(s, [] {});
        poison(s);
    }
    const Stream fresh(test_device());
    fresh.synchronize();
    CHECK(eventually([&] { return reports.count() == 50; }));
}

TEST_CASE("a failure on a stream that is destroyed is reported and not thrown, whenever it is") {
    const bool fails_before = GENERATE(true, false);
    CAPTURE(fails_before);
    for (std::size_t i = 0; i < repetitions(100, 10); ++i) {
        const Reports reports;
        Gate gate;
        {
            const Stream s(test_device());
            if (!fails_before) gate.hold(s);
            launch_host(s, [] { throw Boom("nobody left"); });
            if (fails_before) REQUIRE(eventually([&] { return s.is_poisoned(); }));
        }
        gate.open();
        CHECK_FALSE(error_of([] { synchronize_device(test_device()); }));
        REQUIRE(reports.count() == 1);
        CHECK(cause_of(reports.all()[0]) == "nobody left");
    }
}

TEST_CASE("a branch's failure that nobody is left to tell is reported, whenever it comes") {
    const bool fails_before = GENERATE(true, false);
    CAPTURE(fails_before);
    for (std::size_t i = 0; i < repetitions(100, 10); ++i) {
        const Reports reports;
        Gate gate;
        {
            const Stream base(test_device());
            const auto fails = [&](StreamRef branch) {
                if (!fails_before) gate.hold(branch);
                launch_host(branch, [] { throw Boom("nobody left"); });
                if (fails_before) REQUIRE(eventually([&] { return branch.is_poisoned(); }));
            };
            fork_join(base, fails, [](StreamRef) {});
        }
        gate.open();
        CHECK_FALSE(error_of([] { synchronize_device(test_device()); }));
        REQUIRE(reports.count() == 1);
        CHECK(cause_of(reports.all()[0]) == "nobody left");
    }
}

TEST_CASE("a failure that came by waiting names both streams") {
    const Drained drained;
    const Stream s(test_device(), {.name = "first"}), t(test_device(), {.name = "second"});
    poison(s);
    t.wait_stream(s);
    const Error error = thrown_by([&] { t.synchronize(); });
    CHECK(error.stream() == "first");
    CHECK_THAT(error.what(),
               contains("stream 'second' waited for the failed work, and failed too"));
    const Error own = thrown_by([&] { s.synchronize(); });
    CHECK(std::string(own.what()).find("failed too") == std::string::npos);
}
