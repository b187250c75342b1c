// fork_join(): the branches run concurrently, after earlier work and before later work.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>
#include <set>

using namespace heddle_test;

TEST_CASE("each branch is called once, in order, on this thread, with a stream of its own") {
    const Stream base(test_device());
    std::set<std::uint64_t> ids;
    Strings calls;
    const std::thread::id here = std::this_thread::get_id();
    fork_join(
        base,
        [&] {
            calls.push_back("a");
            ids.insert(current_stream().id());
            CHECK(std::this_thread::get_id() == here);
        },
        [&](StreamRef s) {
            calls.push_back("b");
            CHECK(current_stream() == s);
            CHECK(s.device() == test_device());
            ids.insert(s.id());
        },
        [&] {
            calls.push_back("c");
            ids.insert(current_stream().id());
        });
    CHECK(calls == Strings{"a", "b", "c"});
    CHECK(ids.size() == 3);
    CHECK(ids.count(base.id()) == 0);
}

TEST_CASE("branches come after earlier work of the base, and its next work comes after them") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream base(test_device());
    gate.hold(base);
    seen.note(base, "before");
    fork_join(
        base, [&] { seen.note(current_stream(), "branch"); },
        [&] { seen.note(current_stream(), "branch"); },
        [&] { seen.note(current_stream(), "branch"); });
    seen.note(base, "after");
    check_held(seen, gate, base, {"before", "branch", "branch", "branch", "after"});
}

TEST_CASE("the base waits for every branch, whichever is last") {
    for (std::size_t slow = 0; slow < 4; ++slow) {
        const OrderLog seen;
        DrainedGate gate;
        const Stream base(test_device());
        fork_join_n(base, 4, [&](std::size_t i) {
            if (i == slow) gate.hold(current_stream());
            seen.note(current_stream(), "branch");
        });
        seen.note(base, "after");
        REQUIRE(eventually([&] { return seen.seen().size() == 3; }));
        finish_work(test_device());
        CHECK_FALSE(seen.has("after"));
        gate.open();
        base.synchronize();
        CHECK(seen.seen().size() == 5);
        CHECK(seen.seen().back() == "after");
    }
}

TEST_CASE("branches do not wait for each other") {
    DrainedGate gate;
    const Stream base(test_device());
    StreamRef second;
    fork_join(
        base,
        [&](StreamRef s) {
            gate.hold(s);
            launch_host(s, [] {});
        },
        [&](StreamRef s) {
            launch_host(s, [] {});
            s.synchronize();  // would block if it waited for the first branch
        });
    CHECK_FALSE(base.is_complete());
    gate.open();
    base.synchronize();
}

TEST_CASE("without a base the current stream is it, and is current again afterwards") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream s(test_device());
    const ScopedStream in{s};
    gate.hold(s);
    fork_join([&] { seen.note(current_stream(), "branch"); },
              [&] { seen.note(current_stream(), "branch"); });
    CHECK(current_stream() == s);
    seen.note(s, "after");
    check_held(seen, gate, s, {"branch", "branch", "after"});
}

TEST_CASE("a counted fork calls its function with each index, and with none for a count of zero") {
    const Stream base(test_device());
    const ScopedStream in{base};
    std::vector<std::size_t> indices;
    fork_join_n(5, [&](std::size_t i) { indices.push_back(i); });
    CHECK(indices == std::vector<std::size_t>{0, 1, 2, 3, 4});
    bool same = true;
    fork_join_n(base, 3, [&](std::size_t, StreamRef s) { same = same && current_stream() == s; });
    CHECK(same);
    fork_join_n(base, 0, [&](std::size_t) { FAIL("called"); });
}

TEST_CASE(
    "calls are dealt to branches in turn, in order, each with its branch as the current stream") {
    const Stream base(test_device());
    const ScopedStream in{base};
    std::vector<StreamRef> streams;
    std::vector<std::size_t> indices;
    bool same = true;
    fork_join_n(7,
                [&](std::size_t i, StreamRef s) {
                    indices.push_back(i);
                    streams.push_back(s);
                    same = same && current_stream() == s && s != base;
                },
                {.streams = 3});
    CHECK(indices == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6});
    CHECK(same);
    CHECK(current_stream() == base);
    REQUIRE(streams.size() == 7);
    for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t k = 0; k < 7; ++k) CHECK((streams[i] == streams[k]) == (i % 3 == k % 3));
    fork_join_n(base, 0, [&](std::size_t) { FAIL("called"); });
}

TEST_CASE(
    "dealt calls come after earlier work of the base, and its next work comes after all of them") {
    const OrderLog seen;
    const Drained drained;
    Gate before, last;
    const Stream base(test_device());
    before.hold(base);
    seen.note(base, "before");
    fork_join_n(base, 5,
                [&](std::size_t i) {
                    if (i == 4) last.hold(current_stream());
                    seen.note(current_stream(), "call");
                },
                {.streams = 2});
    seen.note(base, "after");
    finish_work(test_device());
    CHECK(seen.seen().empty());
    before.open();
    REQUIRE(eventually(
        [&] { return seen.seen().size() == 5; }));  // the fifth call is held, and no other call
    finish_work(test_device());
    CHECK_FALSE(seen.has("after"));
    check_opened(seen, last, base, {"before", "call", "call", "call", "call", "call", "after"});
}

TEST_CASE(
    "what a dealt call throws comes out after the branches were joined; later calls are not made") {
    const Drained drained;
    const Stream base(test_device());
    std::atomic<int> ran{0};
    std::size_t called = 0;
    CHECK_THROWS_AS(fork_join_n(base, 10,
                                [&](std::size_t i) {
                                    ++called;
                                    if (i == 3) throw Boom("boom");
                                    launch_host([&] { ++ran; });
                                }),
                    Boom);
    CHECK(called == 4);
    base.synchronize();
    CHECK(ran == 3);
}

TEST_CASE("a hundred branches are joined") {
    const Drained drained;
    std::atomic<int> ran{0};
    int at_join = 0;
    const Stream base(test_device());
    fork_join_n(base, 100, [&](std::size_t) { launch_host([&] { ++ran; }); });
    launch_host(base, [&] { at_join = ran; });
    base.synchronize();
    CHECK(at_join == 100);
}

TEST_CASE("forks nest") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream base(test_device());
    gate.hold(base);
    seen.note(base, "1 before");
    fork_join(
        base,
        [&] {
            const StreamRef branch = current_stream();
            seen.note(branch, "2 branch");
            fork_join([&] { seen.note(current_stream(), "3 leaf"); },
                      [&] { seen.note(current_stream(), "3 leaf"); });
            CHECK(current_stream() == branch);
            seen.note(branch, "4 branch");
        },
        [&] { fork_join([&] { seen.note(current_stream(), "2 other"); }); });
    seen.note(base, "5 after");
    gate.open();
    base.synchronize();
    Strings all = seen.seen();
    REQUIRE(all.size() == 7);
    CHECK(all.front() == "1 before");
    CHECK(all.back() == "5 after");
    all.erase(std::find(all.begin(), all.end(), "2 other"));
    CHECK(std::is_sorted(all.begin(), all.end()));
}

TEST_CASE(
    "what a branch throws comes out after all branches were joined; later ones are not called") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream base(test_device());
    bool called = false;
    const auto fork = [&] {
        fork_join(
            base,
            [&] {
                gate.hold(current_stream());
                seen.note(current_stream(), "first");
            },
            [&] {
                seen.note(current_stream(), "second");
                throw Boom("branch");
            },
            [&] { called = true; });
    };
    CHECK_THROWS_WITH(fork(), "branch");
    CHECK_FALSE(called);
    seen.note(base, "after");
    REQUIRE(eventually([&] { return seen.has("second"); }));
    finish_work(test_device());
    CHECK_FALSE(seen.has("after"));
    check_opened(seen, gate, base, {"second", "first", "after"});
}

TEST_CASE("the current stream is restored when a branch throws") {
    const Stream s(test_device());
    const ScopedStream in{s};
    CHECK_THROWS_AS(fork_join([] { throw Boom("branch"); }), Boom);
    CHECK(current_stream() == s);
    CHECK(current_device() == test_device());
}

TEST_CASE("work that fails in a branch poisons the base, and no later fork") {
    const Stream base(test_device());
    fork_join(
        base, [] { launch_host([] { throw Boom("in a branch"); }); }, [] { launch_host([] {}); });
    CHECK(cause_of(thrown_by([&] { base.synchronize(); })) == "in a branch");
    const Stream other(test_device());
    for (int i = 0; i < 10; ++i) fork_join_n(other, 4, [](std::size_t) { launch_host([] {}); });
    other.synchronize();
    CHECK_FALSE(other.is_poisoned());
}

TEST_CASE("a failure in a branch is the base's: cleared there, it comes out nowhere else") {
    const Stream base(test_device());
    fork_join(
        base, [] { launch_host([] { throw Boom("in a branch"); }); }, [] { launch_host([] {}); });
    CHECK_THROWS_AS(base.synchronize(), WorkFailed);
    CHECK(base.clear_error() != nullptr);
    CHECK_FALSE(error_of([] { synchronize_device(test_device()); }));
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i)
        fork_join_n(base, 3, [&](std::size_t) { launch_host([&] { ++ran; }); });
    base.synchronize();
    CHECK(ran == 60);
}

TEST_CASE("a branch that only waits for work that has failed passes the failure on") {
    const Drained drained;
    const Stream failing(cpu_device()), base(test_device());
    launch_host(failing, [] { throw Boom("on another stream"); });
    CHECK(eventually([&] { return failing.is_poisoned(); }));
    fork_join(base, [&] { current_stream().wait_stream(failing); }, [] { launch_host([] {}); });
    CHECK(cause_of(thrown_by([&] { base.synchronize(); })) == "on another stream");
    CHECK(base.clear_error() != nullptr);
}

TEST_CASE("a failure that was there before the wait goes on through any number of streams") {
    const Drained drained;
    const Stream failing(cpu_device()), first(test_device()), second(test_device()), third;
    launch_host(failing, [] { throw Boom("at the beginning"); });
    CHECK(eventually([&] { return failing.is_poisoned(); }));
    first.wait_stream(failing);
    second.wait_stream(first);
    third.wait_event(second.record_event());
    CHECK(cause_of(thrown_by([&] { third.synchronize(); })) == "at the beginning");
}

TEST_CASE("a branch that fails in a fork of the same base takes no other branch with it") {
    const Stream base(test_device());
    Gate gate;
    Stream held(test_device());
    gate.hold(held);
    const Flag ran;
    fork_join(
        base,
        [&] {
            fork_join(base, [&](StreamRef inner) {
                inner.wait_stream(held);
                launch_host(inner, [] { throw std::runtime_error("inner"); });
            });
        },
        [&](StreamRef outer) { launch_host(outer, [ran] { ran.set(); }); });
    CHECK(ran.wait());  // the branch that will fail has not run yet
    gate.open();
    CHECK_THROWS_AS(base.synchronize(), WorkFailed);
}

TEST_CASE("kernels of branches see what was before, and what follows sees what they wrote") {
    const Stream base(test_device());
    const std::size_t n = 10'000;
    Array<int> x = zeros<int>(base, n), y = zeros<int>(base, n);
    launch(base, Set{}, dim(n), x, 3);
    launch(base, Set{}, dim(n), y, 4);
    fork_join(
        base, [&] { launch(Multiply{}, dim(n), x, 10); },
        [&] { launch(Multiply{}, dim(n), y, 10); });
    launch(base, AddTo{}, dim(n), x, y);
    CHECK(to_host(base, y) == std::vector<int>(n, 70));
}

TEST_CASE("branches of a CPU fork run at the same time") {
    if (cpu_workers() < 2) HEDDLE_SKIP("needs two CPU workers");
    const Drained drained;
    const Stream base(cpu_device());
    const Flag a, b;
    bool a_met = false, b_met = false;
    fork_join(
        base,
        [&] {
            launch_host([&, a, b] {
                a.set();
                a_met = b.wait();
            });
        },
        [&] {
            launch_host([&, a, b] {
                b.set();
                b_met = a.wait();
            });
        });
    REQUIRE(eventually([&] { return base.is_complete(); }));
    CHECK(a_met);
    CHECK(b_met);
}

TEST_CASE("threads fork from streams of their own at the same time") {
    const Drained drained;
    std::atomic<int> wrong{0};
    on_threads(4, [&] {
        const Stream base(test_device());
        for (std::size_t i = 0; i < repetitions(50, 10); ++i) {
            auto ran = std::make_shared<std::atomic<int>>(0);
            fork_join_n(base, 4, [&](std::size_t) { launch_host([ran] { ++*ran; }); });
            launch_host(base, [&wrong, ran] { wrong += *ran != 4; });
        }
        base.synchronize();
    });
    CHECK(wrong == 0);
}

TEST_CASE("the error of a fork with a base says where it was called") {
    StreamRef gone;
    const Error error = thrown_by([&] { fork_join(gone, [] {}); });
    CHECK(std::string(error.where().file).find("fork_join_test") != std::string::npos);
}

TEST_CASE("a branch on each device comes after the base, and the base after all of them",
          "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    const OrderLog seen;
    const Drained drained;
    const std::vector<Device> all = test_devices();
    for (std::size_t slow = 0; slow < all.size(); ++slow) {
        Gate before, in_branch;
        const Stream base(all[1]);
        before.hold(base);
        seen.note(base, "base");
        const std::size_t seen_before = seen.seen().size();
        fork_join_devices(base, all, [&](std::size_t i, StreamRef s) {
            CHECK(s.device() == all[i]);
            CHECK(current_device() == all[i]);
            CHECK(current_stream() == s);
            if (i == slow) in_branch.hold(s);
            seen.note(s, "branch");
        });
        seen.note(base, "after");
        for (const Device device : all) finish_work(device);
        CHECK(seen.seen().size() == seen_before);
        before.open();
        CHECK(eventually([&] {
            return seen.seen().size() == seen_before + all.size();
        }));  // "base", and the notes of all branches but the slow one
        for (const Device device : all) finish_work(device);
        CHECK(seen.seen().back() == "branch");
        in_branch.open();
        base.synchronize();
        CHECK(seen.seen().size() == seen_before + all.size() + 2);
        CHECK(seen.seen().back() == "after");
    }
}

TEST_CASE("strips of one array are worked on by several devices and put together again",
          "[multi]") {
    const std::vector<Device> all = test_devices();
    const Stream base(all.front());
    constexpr std::size_t strip = 1000;
    Array<int> x = full<int>(base, strip * all.size(), 1);
    const ScopedStream in(base);
    const Device before = current_device();
    fork_join_devices(all, [&](std::size_t i, StreamRef s) {
        Array<int> part = empty<int>(strip);
        copy(s, part, x.view().subview(i * strip, strip));
        launch(Add{}, dim(strip), part, static_cast<int>(i));
        copy(s, x.view().subview(i * strip, strip), part);
    });
    CHECK(current_device() == before);
    const Ints result = to_host(x);
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK(result[i * strip + strip - 1] == 1 + static_cast<int>(i));
}

TEST_CASE("branches on devices of both kinds mix, and none at all is nothing") {
    const Drained drained;
    const Stream base(test_device());
    const OrderLog seen;
    fork_join_devices(base, std::vector{test_device(), cpu_device(), test_device()},
                      [&](std::size_t i) { seen.note(current_stream(), std::to_string(i)); });
    fork_join_devices(base, std::vector<Device>(), [&](std::size_t) { seen.add("never"); });
    Array<int> y = zeros<int>(base, 4);
    fork_join_devices(base, {test_device(), test_device()},
                      [&](std::size_t i) { fill(y.view().subview(2 * i, 2), int(i) + 5); });
    CHECK(to_host(base, y) == Ints{5, 5, 6, 6});
    base.synchronize();
    Strings order = seen.seen();
    std::sort(order.begin(), order.end());
    CHECK(order == Strings{"0", "1", "2"});
}

TEST_CASE("branches on several devices are captured side by side", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    const Drained drained;
    const std::vector<Device> all = test_devices();
    const Stream base(all[0]);
    std::vector<Array<int>> parts;
    for (const Device device : all) parts.push_back(zeros<int>(default_stream(device), 100));
    synchronize();
    Graph graph = capture(base, [&] {
        fork_join_devices(base, all, [&](std::size_t i) {
            launch(Add{}, dim(100), parts[i], static_cast<int>(i) + 1);
        });
    });
    CHECK(graph.size() == all.size());
    CHECK(graph.edge_count() == 0);
    graph.launch(base);
    graph.launch(base);
    base.synchronize();
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK(to_host(default_stream(all[i]), parts[i]) ==
              Ints(100, 2 * (static_cast<int>(i) + 1)));
}

TEST_CASE("a fork of more branches than there can be says that there is no memory") {
    const Stream s(test_device());
    const Error error = thrown_by([&] { fork_join_n(s, SIZE_MAX / 2, [](std::size_t) {}); });
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK(s.is_complete());
}
