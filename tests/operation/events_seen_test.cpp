// Notifications about events and positions, and the reasons of waits.
#include "kernel_launches.hpp"
#include "operation/watch.hpp"

using namespace heddle_test;

TEST_CASE("records of one event are told apart, and a wait names the one it means") {
    const Stream a(test_device()), b(test_device());
    Event event(test_device());
    Watch watch;
    a.record_event(event);
    const Seen first = watch.take_only(OpKind::record);
    launch_host(a, [] {});
    a.record_event(event);
    const Seen second = watch.take_only(OpKind::record);
    CHECK(first.op.event.event == second.op.event.event);
    CHECK(first.op.event.event != 0);
    CHECK(second.op.event.record == first.op.event.record + 1);
    b.wait_event(event);
    CHECK(watch.take_only(OpKind::wait).op.event == second.op.event);
}

TEST_CASE("events that share one native event have identities of their own") {
    const Stream s(test_device());
    Watch watch;
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 3; ++i) {
        const Event event = s.record_event();  // from the pool; destroyed immediately
        ids.push_back(watch.take_only(OpKind::record).op.event.event);
    }
    CHECK(ids[0] != ids[1]);
    CHECK(ids[1] != ids[2]);
}

TEST_CASE("making an event is described") {
    Watch watch;
    const Event event(test_device());
    const Seen made = watch.take_only(OpKind::make_event);
    CHECK(made.op.device == test_device());
    CHECK(made.op.event.event != 0);
    CHECK(made.op.event.record == 0);
}

TEST_CASE("a wait for an event that was never recorded says so") {
    const Stream s(test_device());
    const Event event(test_device());
    Watch watch;
    s.wait_event(event);
    const Seen wait = watch.take_only(OpKind::wait_elided);
    CHECK(wait.op.event.event != 0);
    CHECK(wait.op.event.record == 0);
    CHECK(wait.other == 0);
}

TEST_CASE("positions on one stream never repeat, whatever threads enqueue there") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Watch watch;
    constexpr int threads = 4, each = 200;
    on_threads(threads, [&] {
        for (int i = 0; i < each; ++i) {
            if (i % 2 == 0) launch(s, Add{}, dim(10), x, 0);
            else fill_zero(s, x);
        }
    });
    std::vector<std::uint64_t> positions;
    for (const Seen& one : watch.take())
        if (one.stream == s.id()) positions.push_back(one.op.position);
    CHECK(positions.size() == threads * each);
    std::sort(positions.begin(), positions.end());
    CHECK(std::adjacent_find(positions.begin(), positions.end()) == positions.end());
    s.synchronize();
}

TEST_CASE("allocations, records and waits have positions between the work") {
    const Stream s(test_device()), other(test_device());
    launch_host(other, [] {});
    Watch watch;
    Array<int> x = zeros<int>(s, 10);
    s.wait_stream(other);
    const Event event = s.record_event();
    launch(s, Add{}, dim(10), x, 1);
    std::uint64_t last = 0;
    std::size_t count = 0;
    for (const Seen& one : watch.take()) {
        if (one.stream != s.id()) continue;
        CHECK(one.op.position > last);
        last = one.op.position;
        ++count;
    }
    CHECK(count >= 5);  // allocate, fill, wait, record, launch
}

TEST_CASE("every operation has an id of its own") {
    const Stream s(test_device());
    Watch watch({.times = true});
    for (int i = 0; i < 10; ++i) launch_host(s, [] {});
    Array<int> x = zeros<int>(s, 10);
    s.synchronize();
    std::vector<std::uint64_t> ids;
    for (const Seen& one : watch.take()) ids.push_back(one.op.id);
    CHECK(ids.size() >= 13);
    std::sort(ids.begin(), ids.end());
    CHECK(ids.front() != 0);
    CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
}

TEST_CASE("a wait tells up to which operation of the other stream it reaches") {
    const Stream a(test_device()), b(test_device());
    Watch watch;
    launch_host(b, [] {});
    const Seen before = watch.take_only(OpKind::host_function);
    const Event event = b.record_event();
    launch_host(b, [] {});
    const Seen behind = watch.take_only(OpKind::host_function);
    a.wait_event(event);
    const Seen wait = watch.take_only(OpKind::wait);
    CHECK(wait.other == b.id());
    CHECK(wait.op.other_position >= before.op.position);
    CHECK(wait.op.other_position < behind.op.position);
    a.wait_stream(b);
    CHECK(watch.take_only(OpKind::wait).op.other_position >= behind.op.position);
}

TEST_CASE("a wait that the program asked for has the reason user") {
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    Watch watch;
    a.wait_stream(b);
    CHECK(watch.take_only(OpKind::wait).op.reason == WaitReason::user);
}

TEST_CASE("waits of scopes say whether a scope was entered or left") {
    const Stream outer(test_device()), inner(test_device());
    const ScopedStream in(outer);
    launch_host([] {});
    Watch watch;
    {
        const ScopedStream scope(inner, {.wait_on_exit = true});
        CHECK(watch.take_only(OpKind::wait).op.reason == WaitReason::scope_enter);
        launch_host([] {});
        watch.take();
    }
    CHECK(watch.take_only(OpKind::wait).op.reason == WaitReason::scope_exit);
}

TEST_CASE("waits of fork_join say whether a branch began or was joined") {
    const Here here;
    launch_host([] {});
    Watch watch;
    fork_join([] { launch_host([] {}); }, [] { launch_host([] {}); });
    std::size_t forks = 0, joins = 0;
    for (const Seen& one : watch.take()) {
        if (one.kind != OpKind::wait && one.kind != OpKind::wait_elided) continue;
        forks += one.op.reason == WaitReason::fork;
        joins += one.op.reason == WaitReason::join;
    }
    CHECK(forks == 2);
    CHECK(joins == 2);
}

TEST_CASE("every reason and mode has its own text") {
    Strings texts;
    for (std::size_t i = 0; i < wait_reasons; ++i)
        texts.emplace_back(to_string(static_cast<WaitReason>(i)));
    for (OpMode mode : {OpMode::run, OpMode::captured, OpMode::batched})
        texts.emplace_back(to_string(mode));
    std::sort(texts.begin(), texts.end());
    CHECK(std::adjacent_find(texts.begin(), texts.end()) == texts.end());
    CHECK(texts.front() != "?");
}
