// wait_stream(): the order that it creates, and when it is elided or must not be.
#include "kernel_launches.hpp"
#include "support.hpp"
#include "waits_of.hpp"

using namespace heddle_test;

TEST_CASE("wait_stream orders later work after the other's earlier work") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(b);
    seen.note(b, "b");
    a.wait_stream(b);
    seen.note(a, "a");
    check_held(seen, gate, a, {"b", "a"});
}

TEST_CASE("wait_stream does not wait for the other's later work") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    a.wait_stream(b);
    gate.hold(b);
    launch_host(b, [] {});
    launch_host(a, [] {});
    a.synchronize();  // would block if it waited for all work of b
    CHECK_FALSE(b.is_complete());
}

TEST_CASE("wait_stream does not hold up the waiter's earlier work, nor the other stream") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(b);
    launch_host(b, [] {});
    seen.note(a, "before");
    const Event before = a.record_event();
    a.wait_stream(b);
    before.synchronize();
    CHECK(seen.seen() == Strings{"before"});

    Gate second;
    const Stream c(test_device()), d(test_device());
    second.hold(c);
    launch_host(d, [] {});
    c.wait_stream(d);
    launch_host(d, [] {});
    d.synchronize();  // d is not delayed if others wait for it
    CHECK(d.is_complete());
}

TEST_CASE("order goes through chains of waits") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device()), c(test_device());
    gate.hold(a);
    seen.note(a, "a");
    b.wait_stream(a);
    c.wait_stream(b);  // b has only a wait, and no work
    seen.note(c, "c");
    check_held(seen, gate, c, {"a", "c"});
}

TEST_CASE("streams may wait for each other in turn") {
    const OrderLog seen;
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Strings expected;
    for (int i = 0; i < 50; ++i) {
        const Stream& now = i % 2 == 0 ? a : b;
        now.wait_stream(i % 2 == 0 ? b : a);
        expected.push_back(std::to_string(i));
        seen.note(now, expected.back());
    }
    synchronize_device(test_device());
    CHECK(seen.seen() == expected);
}

TEST_CASE("the free functions wait as the member does") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device()), c(test_device());
    gate.hold(a);
    seen.note(a, "a");
    b.wait_stream(a);
    seen.note(b, "b");
    {
        const ScopedStream in{c, {.wait_on_enter = false}};
        wait_stream(b);
    }
    seen.note(c, "c");
    check_opened(seen, gate, c, {"a", "b", "c"});
}

TEST_CASE("waiting on a stream with new work inserts a wait") {
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    launch_host(b, [] {});
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
}

TEST_CASE("a stream's wait on itself is elided") {
    const Stream a(test_device());
    launch_host(a, [] {});
    CHECK(waits_of([&] { a.wait_stream(a); }) == elided);
}

TEST_CASE("a second wait on a stream without work since is elided") {
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    a.wait_stream(b);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
    launch_host(a, [] {});  // work of the waiting stream makes no difference
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
}

TEST_CASE("what one stream waited for, another did not") {
    const Stream a(test_device()), b(test_device()), c(test_device());
    launch_host(b, [] {});
    a.wait_stream(b);
    CHECK(waits_of([&] { c.wait_stream(b); }) == inserted);
    launch_host(a, [] {});
    CHECK(waits_of([&] { b.wait_stream(a); }) == inserted);
}

TEST_CASE("a wait counts as work of the stream that waits") {
    const Stream a(test_device()), b(test_device()), c(test_device());
    launch_host(b, [] {});
    a.wait_stream(b);
    launch_host(c, [] {});
    b.wait_stream(c);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    Event event(test_device());
    launch_host(c, [] {});
    event.record(c);
    b.wait_event(event);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
}

TEST_CASE("every kind of work on the other stream makes the wait necessary again", "[graphs]") {
    const Stream a(test_device()), b(test_device());
    Array<int> x = empty<int>(b, 100), y = empty<int>(b, 100);
    launch_host(b, [] {});
    a.wait_stream(b);
    const auto waits_after = [&](auto&& work) {
        work();
        return waits_of([&] { a.wait_stream(b); });
    };
    CHECK(waits_after([&] { fill(b, x, 1); }) == inserted);
    CHECK(waits_after([&] { copy(b, y, x); }) == inserted);
    CHECK(waits_after([&] { launch_host(b, [] {}); }) == inserted);
    CHECK(waits_after([&] { launch(b, Add{}, dim(100), x, 1); }) == inserted);
    Graph graph = capture(b, [&] { fill(b, x, 2); });
    CHECK(waits_after([&] { graph.launch(b); }) == inserted);
    CHECK(waits_after([&] { const Event e = b.record_event(); }) == elided);  // a record is no work
    Array<int> fresh;
    CHECK(waits_after([&] { fresh = empty<int>(b, 54'321); }) == wait_for_new_memory());
    CHECK(waits_after([&] { fresh.reset(); }) == elided);  // no call can use the array afterwards
}

TEST_CASE("a scope entered again from the same stream with nothing new waits for nothing") {
    const Stream a(test_device()), b(test_device());
    const ScopedStream in{a};
    launch_host([] {});
    CHECK(waits_of([&] { const ScopedStream inner{b}; }) == inserted);
    CHECK(waits_of([&] { const ScopedStream inner{b}; }) == elided);
    CHECK(waits_of([&] { const ScopedStream same{a}; }) == elided);
    launch_host([] {});
    CHECK(waits_of([&] { const ScopedStream inner{b}; }) == inserted);
}

TEST_CASE("an elided wait is one that held: the order is there") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(b);
    seen.note(b, "b");
    a.wait_stream(b);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
    seen.note(a, "a");
    check_opened(seen, gate, a, {"b", "a"});
}

TEST_CASE("a wait on a new stream is never taken for one on a destroyed stream") {
    const Drained drained;
    const Stream a(test_device());
    int not_inserted = 0;
    for (int i = 0; i < 100; ++i) {
        const Stream b(test_device());
        launch_host(b, [] {});
        not_inserted += waits_of([&] { a.wait_stream(b); }) != inserted;
        b.synchronize();  // so that its record can be reused immediately
    }
    CHECK(not_inserted == 0);
}

TEST_CASE("what a destroyed stream waited for, a new one did not") {
    const Drained drained;
    const Stream b(test_device());
    launch_host(b, [] {});
    int not_inserted = 0;
    for (int i = 0; i < 100; ++i) {
        const Stream a(test_device());
        not_inserted += waits_of([&] { a.wait_stream(b); }) != inserted;
        a.synchronize();
    }
    CHECK(not_inserted == 0);
}

TEST_CASE("a stream that waits on more streams than it remembers still waits on each") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device());
    std::vector<Stream> others;
    for (int i = 0; i < 40; ++i)
        others.emplace_back(test_device());  // before any stream is held (see reserve_streams())
    for (const Stream& s : others) {
        gate.hold(s);
        launch_host(s, [] {});
    }
    for (int round = 0; round < 2; ++round)
        for (const Stream& s : others) a.wait_stream(s);
    for (const Stream& s : others) {
        seen.note(s, "other");
        a.wait_stream(s);
    }
    seen.note(a, "a");
    gate.open();
    a.synchronize();
    REQUIRE(seen.seen().size() == 41);
    CHECK(seen.seen().back() == "a");
}

TEST_CASE(
    "a wait on an event that was recorded before later work does not make a later wait redundant") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    const Event early = b.record_event();
    gate.hold(b);
    seen.note(b, "b");
    a.wait_event(early);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    seen.note(a, "a");
    check_opened(seen, gate, a, {"b", "a"});
}

TEST_CASE("a wait on an event is elided on the event's own stream, and stands for no wait on the "
          "stream it "
          "was recorded on") {
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    launch_host(b, [] {});
    const Event event = b.record_event();
    launch_host(b, [] {});
    a.wait_event(event);
    CHECK(waits_of([&] { a.wait_stream(b); }) ==
          inserted);  // one submission was enqueued after the record
    CHECK(waits_of([&] { a.wait_event(event); }) == inserted);
    CHECK(waits_of([&] { b.wait_event(event); }) == elided);
}

TEST_CASE("streams tied by many threads at once keep every order they were promised") {
    const Drained drained;
    std::atomic<int> wrong{0};
    std::vector<Stream> shared;
    for (int i = 0; i < 4; ++i) shared.emplace_back(test_device());
    const std::size_t rounds = repetitions(300, 50);
    on_threads(4, [&](std::size_t t) {
        const Stream mine(test_device());
        std::atomic<std::size_t> given{0};
        for (std::size_t i = 0; i < rounds; ++i) {
            const Stream& via = shared[(t + i) % shared.size()];
            launch_host(mine, [&] { ++given; });
            via.wait_stream(mine);
            launch_host(via, [&, i] { wrong += given < i + 1; });
            mine.wait_stream(via);
        }
        mine.synchronize();
    });
    CHECK(wrong == 0);
}
