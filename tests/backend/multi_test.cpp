// Two devices of one kind.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

#define SKIP_WITHOUT_TWO()                                                                         \
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind")

TEST_CASE("streams of two devices wait for each other", "[multi]") {
    SKIP_WITHOUT_TWO();
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_devices()[0]), b(test_devices()[1]), c(test_devices()[0]);
    gate.hold(a);
    seen.note(a, "a");
    b.wait_stream(a);
    seen.note(b, "b");
    const Event event = b.record_event();
    c.wait_event(event);
    seen.note(c, "c");
    finish_work(test_devices()[0]);
    finish_work(test_devices()[1]);
    CHECK(seen.seen().empty());
    check_opened(seen, gate, c, {"a", "b", "c"});
}

TEST_CASE("a redundant wait between devices is elided like any other", "[multi]") {
    SKIP_WITHOUT_TWO();
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    launch_host(b, [] {});
    a.wait_stream(b);
    const OpCounter counted;
    a.wait_stream(b);
    CHECK(counted.stats().waits_elided == 1);
    CHECK(counted.stats().waits_inserted == 0);
}

TEST_CASE("a stream scope of another device waits on the stream it replaces there, and on no other",
          "[multi]") {
    SKIP_WITHOUT_TWO();
    const OrderLog seen;
    const Drained drained;
    Gate gate, there;
    const Stream a(test_devices()[0]), before(test_devices()[1]), b(test_devices()[1]);
    const ScopedStream in_before{before}, in_a{a};
    gate.hold(a);
    there.hold(before);
    seen.note(before, "before");
    {
        const ScopedStream in{b};
        CHECK(current_device() == test_devices()[1]);
        CHECK(current_stream(test_devices()[0]) == a);
        seen.note(current_stream(), "b");
    }
    CHECK(current_device() == test_devices()[0]);
    CHECK(current_stream(test_devices()[1]) == before);
    finish_work(test_devices()[1]);
    CHECK(seen.seen().empty());
    there.open();
    b.synchronize();  // would block if it waited for a
    CHECK(seen.seen() == Strings{"before", "b"});
}

TEST_CASE("each device has its own current and default stream", "[multi]") {
    SKIP_WITHOUT_TWO();
    const Device x = test_devices()[0], y = test_devices()[1];
    CHECK_FALSE(default_stream(x) == default_stream(y));
    const Stream s(y);
    const ScopedStream in{s};
    CHECK(current_stream(y) == s);
    CHECK_FALSE(current_stream(x) == s);
    const ScopedDevice on{x};
    CHECK(current_stream().device() == x);
    CHECK(current_stream(y) == s);
    CHECK_FALSE(Stream::per_thread(x) == Stream::per_thread(y));
}

TEST_CASE("an explicit stream decides the device, not the current one", "[multi]") {
    SKIP_WITHOUT_TWO();
    const Stream b(test_devices()[1]);
    const ScopedDevice on{test_devices()[0]};
    Array<int> x = zeros<int>(b, 1000);
    CHECK(x.device() == test_devices()[1]);
    launch(b, Iota{}, dim(1000), x);
    fill(b, x.view().first(1), 7);
    std::atomic<bool> ran{false};
    launch_host(b, [&] { ran = true; });
    const Event event = b.record_event();
    CHECK(event.device() == test_devices()[1]);
    const std::vector<int> back = to_host(b, x);
    CHECK(back[0] == 7);
    CHECK(back[999] == 999);
    CHECK(ran);
    CHECK(current_device() == test_devices()[0]);
}

TEST_CASE("synchronising one device does not wait for the other", "[multi]") {
    SKIP_WITHOUT_TWO();
    DrainedGate gate;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    std::atomic<bool> ran{false};
    gate.hold(a);
    launch_host(a, [] {});
    launch_host(b, [&] { ran = true; });
    synchronize_device(test_devices()[1]);  // would block if it waited for a
    CHECK(ran);
    CHECK_FALSE(a.is_complete());
}

TEST_CASE("synchronize() waits for all devices", "[multi]") {
    SKIP_WITHOUT_TWO();
    const Drained drained;
    std::atomic<int> ran{0};
    for (Device d : test_devices()) launch_host(default_stream(d), [&] { ++ran; });
    synchronize();
    CHECK(ran == static_cast<int>(test_devices().size()));
}

TEST_CASE("a failure goes to the other device with a wait", "[multi]") {
    SKIP_WITHOUT_TWO();
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    launch_host(a, [] { throw Boom("from the first device"); });
    b.wait_stream(a);
    launch_host(b, [] {});
    const Error error = thrown_by([&] { b.synchronize(); });
    CHECK(cause_of(error) == "from the first device");
    CHECK(error.device() == test_devices()[0]);
}

TEST_CASE("an array of one device that is freed while the other device reads it keeps its memory "
          "until then",
          "[multi]") {
    SKIP_WITHOUT_TWO();
    const Drained drained;
    const std::size_t n = 50'000;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    Array<int> y = ready_zeros<int>(b, n);
    Gate gate;
    {
        Array<int> x = ready_full<int>(a, n, 5);
        gate.hold(b);
        copy(b, y, x);
    }
    for (int i = 0; i < 4; ++i) {
        const Array<int> again = ready_full<int>(a, n, -1);
    }
    gate.open();
    CHECK(to_host(b, y) == std::vector<int>(n, 5));
}

TEST_CASE("fork_join runs on the base's device, whatever is current", "[multi]") {
    SKIP_WITHOUT_TWO();
    const Stream b(test_devices()[1]);
    const ScopedDevice on{test_devices()[0]};
    fork_join(
        b, [&](StreamRef s) { CHECK(s.device() == test_devices()[1]); },
        [&] { CHECK(current_device() == test_devices()[1]); });
    CHECK(current_device() == test_devices()[0]);
    b.synchronize();
}

TEST_CASE("a ring through all devices runs in order", "[multi]") {
    SKIP_WITHOUT_TWO();
    const std::vector<Device> all = test_devices();
    const std::size_t n = 1000;
    std::vector<Stream> streams;
    std::vector<Array<int>> arrays;
    for (Device d : all) {
        streams.emplace_back(d);
        arrays.push_back(zeros<int>(streams.back(), n));
    }
    for (std::size_t step = 0; step < 20; ++step) {
        const std::size_t from = step % all.size(), to = (step + 1) % all.size();
        launch(streams[from], Add{}, dim(n), arrays[from], 1);
        streams[to].wait_stream(streams[from]);
        copy(streams[to], arrays[to], arrays[from]);
        streams[from].wait_stream(streams[to]);  // no write to the source while it is copied
    }
    const std::size_t last = 20 % all.size();
    CHECK(to_host(streams[last], arrays[last]) == std::vector<int>(n, 20));
}

TEST_CASE("a capture goes on to another device's stream that waits, and copies between the two",
          "[multi][graphs]") {
    SKIP_WITHOUT_TWO();
    const Drained drained;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    if (!a.device().can_access_peer(b.device()))
        HEDDLE_SKIP("these two devices cannot reach each other");
    Array<int> x = zeros<int>(a, 100), y = zeros<int>(b, 100), z = zeros<int>(a, 100),
               back = zeros<int>(a, 100);
    synchronize();
    Graph graph = capture(a, [&] {
        launch(a, Add{}, dim(100), x, 1);
        b.wait_stream(a);
        copy(b, y, x);
        launch(b, Multiply{}, dim(100), y, 10);
        launch(a, Add{}, dim(100), z, 1);  // may run while the two on b run
        a.wait_stream(b);
        copy(a, back, y);
    });
    CHECK(graph.size() == 5);
    CHECK(graph.edge_count() == 5);
    graph.launch(a);
    graph.launch(a);
    CHECK(to_host(a, z) == Ints(100, 2));
    CHECK(to_host(a, back) == Ints(100, 20));
}

TEST_CASE("a batch takes in another device's stream that waits", "[multi][graphs]") {
    SKIP_WITHOUT_TWO();
    const Drained drained;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    if (!a.device().can_access_peer(b.device()))
        HEDDLE_SKIP("these two devices cannot reach each other");
    Array<int> x = zeros<int>(a, 100), y = zeros<int>(b, 100);
    synchronize();
    Batch step({.on_cpu = true});
    const ScopedStream in(a);
    for (int i = 0; i < 3; ++i)
        step.run([&] {
            launch(Add{}, dim(100), x, 1);
            b.wait_stream(a);
            copy(b, y, x);
            launch(b, Multiply{}, dim(100), y, 10);
            a.wait_stream(b);
        });
    CHECK(step.last().outcome == BatchOutcome::replayed);
    CHECK(to_host(b, y) == Ints(100, 30));
}
