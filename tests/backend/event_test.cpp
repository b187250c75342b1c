// Events: how a record affects waits by streams and by the host.
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("an event that was never recorded is complete, and waiting for it waits for nothing") {
    const Event event(test_device());
    CHECK_FALSE(event.is_recorded());
    CHECK(event.is_complete());
    event.synchronize();
    const Stream s(test_device());
    s.wait_event(event);
    launch_host(s, [] {});
    s.synchronize();
    CHECK(s.is_complete());
}

TEST_CASE("an event belongs to the device it was made for, by default the current one") {
    for (Device d : test_devices()) CHECK(Event(d).device() == d);
    const ScopedDevice on{test_devices().back()};
    CHECK(Event().device() == test_devices().back());
    CHECK(Event(EventOptions{.timing = true}).device() == test_devices().back());
}

TEST_CASE("an event remembers its options") {
    const EventOptions options{.timing = true, .blocking = true, .interprocess = false};
    CHECK(Event(test_device(), options).options() == options);
    CHECK(Event(test_device()).options() == EventOptions{});
}

TEST_CASE("an event is complete when the stream's work before it has run") {
    DrainedGate gate;
    const Stream s(test_device());
    Event event(test_device());
    gate.hold(s);
    launch_host(s, [] {});
    event.record(s);
    CHECK(event.is_recorded());
    CHECK_FALSE(event.is_complete());
    gate.open();
    event.synchronize();
    CHECK(event.is_complete());
}

TEST_CASE("a stream's work after an event does not hold the event up") {
    DrainedGate gate;
    const Stream s(test_device());
    launch_host(s, [] {});
    const Event event = s.record_event();
    gate.hold(s);
    launch_host(s, [] {});
    event.synchronize();  // would block if it waited for the whole stream
    CHECK(event.is_complete());
    CHECK_FALSE(s.is_complete());
}

TEST_CASE("a stream that waits for an event runs after what was before it, and not later") {
    const OrderLog seen;
    const Drained drained;
    Gate gate, never;
    const Stream a(test_device()), b(test_device());
    gate.hold(a);
    seen.note(a, "before the event");
    const Event event = a.record_event();
    never.hold(a);
    seen.note(a, "after the event");
    b.wait_event(event);
    seen.note(b, "waited");
    check_held(seen, gate, b, {"before the event", "waited"});
}

TEST_CASE("a stream's work before it waits for an event does not wait") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(a);
    const Event event = a.record_event();
    seen.note(b, "earlier");
    const Event earlier = b.record_event();
    b.wait_event(event);
    seen.note(b, "later");
    earlier.synchronize();
    CHECK(seen.seen() == Strings{"earlier"});
}

TEST_CASE("a wait means the record that was newest when it was asked for: recording again does not "
          "shorten it") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device()), c(test_device());
    Event event(test_device());
    gate.hold(a);
    seen.note(a, "a");
    event.record(a);
    b.wait_event(event);
    seen.note(b, "b");
    event.record(c);  // c has no pending work
    event.synchronize();
    CHECK(event.is_complete());
    check_held(seen, gate, b, {"a", "b"});
}

TEST_CASE("a wait means the record that was newest when it was asked for: recording again does not "
          "lengthen it") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device()), c(test_device());
    Event event(test_device());
    launch_host(c, [] {});
    event.record(c);
    b.wait_event(event);
    gate.hold(a);
    launch_host(a, [] {});
    event.record(a);
    launch_host(b, [] {});
    b.synchronize();  // would block if it waited for the second record
    CHECK_FALSE(event.is_complete());
}

TEST_CASE("an event recorded again and again always means the newest record") {
    const Drained drained;
    std::atomic<int> ran{0};
    int wrong = 0;
    const Stream s(test_device());
    Event event(test_device());
    for (int i = 1; i <= 200; ++i) {
        launch_host(s, [&] { ++ran; });
        event.record(s);
        event.synchronize();
        wrong += ran != i;
    }
    CHECK(wrong == 0);
}

TEST_CASE("many streams may wait for one event") {
    const Drained drained;
    std::atomic<int> early{0}, ran{0};
    std::atomic<bool> source_ran{false};
    Gate gate;
    const Stream source(test_device());
    gate.hold(source);
    launch_host(source, [&] { source_ran = true; });
    const Event event = source.record_event();
    std::vector<Stream> waiting;
    const int streams = static_cast<int>(
        repetitions(64, 6));  // with more held streams than hardware queues, the host would block
    for (int i = 0; i < streams; ++i) {
        waiting.emplace_back(test_device());
        waiting.back().wait_event(event);
        launch_host(waiting.back(), [&] {
            early += !source_ran;
            ++ran;
        });
    }
    gate.open();
    for (const Stream& s : waiting) s.synchronize();
    CHECK(ran == streams);
    CHECK(early == 0);
}

TEST_CASE("a stream may wait for many events") {
    const Drained drained;
    std::atomic<int> ran{0};
    int at_the_end = 0;
    Gate gate;
    std::vector<Stream> sources;
    const Stream s(test_device());
    const int streams = static_cast<int>(
        repetitions(64, 6));  // with more held streams than hardware queues, the host would block
    for (int i = 0; i < streams; ++i) {
        sources.emplace_back(test_device());
        gate.hold(sources.back());
        launch_host(sources.back(), [&] { ++ran; });
        s.wait_event(sources.back().record_event());
    }
    launch_host(s, [&] { at_the_end = ran; });
    gate.open();
    s.synchronize();
    CHECK(at_the_end == streams);
}

TEST_CASE("an event may be destroyed with its record and waits on it pending") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(a);
    seen.note(a, "a");
    {
        const Event event = a.record_event();
        b.wait_event(event);
    }
    // One of the new events may reuse the state of the destroyed event.
    const Stream idle(test_device());
    std::vector<Event> later;
    for (int i = 0; i < 20; ++i) later.push_back(idle.record_event());
    seen.note(b, "b");
    check_held(seen, gate, b, {"a", "b"});
}

TEST_CASE("an event out of the pool does not remember what it was before") {
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    for (int i = 0; i < 10; ++i) {
        const Event event = s.record_event();
        CHECK_FALSE(event.is_complete());
    }
    const Event fresh(test_device());
    CHECK_FALSE(fresh.is_recorded());
    CHECK(fresh.is_complete());
}

TEST_CASE("an event moves with its record") {
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    Event a = s.record_event();
    const Event b = std::move(a);
    CHECK_FALSE(b.is_complete());
    Event c(test_device());
    c = s.record_event();
    CHECK_FALSE(c.is_complete());
    gate.open();
    b.synchronize();
    c.synchronize();
    CHECK(b.is_complete());
}

TEST_CASE("using a moved-from event is a usage error") {
    Event a(test_device());
    const Event b = std::move(a);
    const Stream s(test_device());
    CHECK_THROWS_AS(a.record(s), UsageError);
    CHECK_THROWS_AS(a.synchronize(), UsageError);
    CHECK_THROWS_AS(a.is_complete(), UsageError);
    CHECK_THROWS_AS(s.wait_event(a), UsageError);
    CHECK_THROWS_AS(s.record_event(a), UsageError);
}

TEST_CASE("without a stream an event is recorded on the current stream of its device") {
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    Event event(test_device());
    {
        const ScopedStream in{s, {.wait_on_enter = false}};
        event.record();
        CHECK_FALSE(event.is_complete());
        CHECK_FALSE(record_event().is_complete());
        Event again(test_device());
        record_event(again);
        CHECK_FALSE(again.is_complete());
    }
    gate.open();
    synchronize_event(event);
}

TEST_CASE("the free functions on events do what the members do") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(a);
    seen.note(a, "a");
    Event event(test_device());
    a.record_event(event);
    const Event second = a.record_event();
    b.wait_event(event);
    seen.note(b, "b");
    {
        const ScopedStream in{b, {.wait_on_enter = false}};
        wait_event(second);
    }
    check_held(seen, gate, b, {"a", "b"});
}
