// Streams: identity, the lifetime of references, the order of their work, and priorities.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <set>
#include <unordered_set>

using namespace heddle_test;

TEST_CASE("a stream belongs to the device it was made for") {
    for (Device d : test_devices()) CHECK(Stream(d).device() == d);
}

TEST_CASE("a stream made without a device belongs to the current one") {
    const ScopedDevice on{test_devices().back()};
    CHECK(Stream().device() == test_devices().back());
    CHECK(Stream(StreamOptions{.priority = 0, .name = "here"}).device() == test_devices().back());
}

TEST_CASE("every stream has an id of its own that is never used again") {
    std::set<std::uint64_t> ids;
    std::size_t made = 0;
    for (int i = 0; i < 100; ++i) {
        const Stream a(test_device()), b(test_device());
        ids.insert(a.id());
        ids.insert(b.id());
        made += 2;
    }
    CHECK(ids.size() == made);
    CHECK(ids.count(0) == 0);
}

TEST_CASE("a stream has its own name, else one made of its id") {
    CHECK(Stream(test_device(), {.priority = 0, .name = "transfer"}).name() == "transfer");
    const Stream unnamed(test_device());
    CHECK(unnamed.name() == "stream " + std::to_string(unnamed.id()));
}

TEST_CASE("a stream has the priority it asked for, clamped to the device's range") {
    const PriorityRange range = test_device().priorities();
    for (int p = range.greatest; p <= range.least; ++p)
        CHECK(Stream(test_device(), {.priority = p, .name = {}}).priority() == p);
    CHECK(Stream(test_device(), {.priority = range.greatest - 100, .name = {}}).priority() ==
          range.greatest);
    CHECK(Stream(test_device(), {.priority = range.least + 100, .name = {}}).priority() ==
          range.least);
}

TEST_CASE("references compare and hash by the stream they refer to") {
    const Stream a(test_device()), b(test_device());
    const StreamRef r = a;
    CHECK(r == a);
    CHECK(StreamRef(a) == r);
    CHECK_FALSE(r == b);
    CHECK(std::unordered_set<StreamRef>{a, r, b}.size() == 2);
}

TEST_CASE("a reference is one pointer wide") { STATIC_REQUIRE(sizeof(StreamRef) == sizeof(void*)); }

TEST_CASE("a stream moves, and its references stay with it") {
    Stream a(test_device(), {.priority = 0, .name = "moved"});
    const StreamRef r = a;
    Stream b = std::move(a);
    CHECK(r == b);
    CHECK(r.name() == "moved");
    Stream c(test_device());
    c = std::move(b);
    CHECK(r == c);
    launch_host(r, [] {});
    r.synchronize();
    CHECK(r.is_complete());
}

TEST_CASE("move assignment gives up the stream that was there, and its work still runs") {
    const OrderLog seen;
    const Drained drained;
    Stream target(test_device());
    seen.note(target, "of the old one");
    target = Stream(test_device());
    seen.note(target, "of the new one");
    target.synchronize();
    CHECK(eventually([&] { return seen.seen().size() == 2; }));
}

namespace {

/// Checks that all uses of an invalid stream reference throw.
void check_unusable(StreamRef none) {
    const Device d = test_device();
    const Stream good(d);
    Event event(d);
    Array<int> array = zeros<int>(good, 4);
    CHECK_FALSE(static_cast<bool>(none));
    CHECK_THROWS_AS(none.synchronize(), UsageError);
    CHECK_THROWS_AS(none.is_complete(), UsageError);
    CHECK_THROWS_AS(none.record_event(), UsageError);
    CHECK_THROWS_AS(none.record_event(event), UsageError);
    CHECK_THROWS_AS(none.wait_event(event), UsageError);
    CHECK_THROWS_AS(none.wait_stream(good), UsageError);
    CHECK_THROWS_AS(good.wait_stream(none), UsageError);
    CHECK_THROWS_AS(launch(none, Iota{}, dim(4), array), UsageError);
    CHECK_THROWS_AS(launch_host(none, [] {}), UsageError);
    CHECK_THROWS_AS(copy(none, array, zeros<int>(good, 4)), UsageError);
    CHECK_THROWS_AS(fill(none, array, 1), UsageError);
    CHECK_THROWS_AS(empty<int>(none, 4), UsageError);
    CHECK_THROWS_AS(ScopedStream(none), UsageError);
    CHECK_THROWS_AS(set_stream(none), UsageError);
    CHECK_THROWS_AS(fork_join(none, [] {}), UsageError);
    CHECK_THROWS_AS(array.used_on(none), UsageError);
    good.synchronize();
}

}  // namespace

TEST_CASE("a reference to nothing is refused everywhere") { check_unusable(StreamRef()); }

TEST_CASE("a moved-from stream is refused everywhere") {
    Stream a(test_device());
    const Stream b = std::move(a);
    check_unusable(a);
}

TEST_CASE("a reference that outlives its stream is refused everywhere") {
    StreamRef left;
    {
        const Stream a(test_device());
        launch_host(a, [] {});
        left = a;
    }
    check_unusable(left);
}

TEST_CASE("a reference that outlives its stream does not become one to a later stream") {
    StreamRef left;
    std::uint64_t id = 0;
    {
        const Stream a(test_device());
        launch_host(a, [] {});
        a.synchronize();
        left = a;
        id = a.id();
    }
    synchronize_device(test_device());
    std::vector<Stream> later;
    for (int i = 0; i < 50; ++i) {
        later.emplace_back(test_device());
        CHECK_FALSE(left == later.back());
        CHECK(later.back().id() != id);
    }
    CHECK_FALSE(static_cast<bool>(left));
    CHECK_THROWS_AS(left.synchronize(), UsageError);
}

TEST_CASE("the error of a dead reference says so") {
    StreamRef left;
    left = Stream(test_device(), {.priority = 0, .name = "short-lived"});
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { launch_host(left, [] {}); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), contains("destroyed"));
}

TEST_CASE("a stream runs its work in order") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    Strings expected;
    for (int i = 0; i < 100; ++i) {
        expected.push_back(std::to_string(i));
        seen.note(s, expected.back());
    }
    check_held(seen, gate, s, expected);
}

TEST_CASE("a stream runs host functions, kernels, copies and fills in the order of the calls") {
    const Stream s(test_device());
    DrainedGate gate;
    Array<int> x = empty<int>(s, 1000), y = empty<int>(s, 1000);
    gate.hold(s);
    fill(s, x, 1);
    launch(s, Add{}, dim(1000), x, 2);        // x is 3
    copy(s, y, x);                            // y is 3
    launch(s, Multiply{}, dim(1000), x, 10);  // x is 30
    launch(s, AddTo{}, dim(1000), x, y);      // y is 33
    fill(s, x, 5);
    gate.open();
    CHECK(to_host(s, y) == std::vector<int>(1000, 33));
    CHECK(to_host(s, x) == std::vector<int>(1000, 5));
}

TEST_CASE("streams that do not wait for each other proceed on their own") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream held(test_device()), free(test_device());
    gate.hold(held);
    seen.note(held, "held");
    seen.note(free, "free");
    free.synchronize();  // would block if `free` were held by the gate
    CHECK(seen.seen() == Strings{"free"});
    CHECK(free.is_complete());
    CHECK_FALSE(held.is_complete());
    check_opened(seen, gate, held, {"free", "held"});
}

TEST_CASE("a stream with nothing to do is complete") {
    const Stream s(test_device());
    CHECK(s.is_complete());
    s.synchronize();
    CHECK(s.is_complete());
}

TEST_CASE("a stream is incomplete until all of its work has run") {
    DrainedGate gate;
    const Stream s(test_device());
    launch_host(s, [] {});
    gate.hold(s);
    launch_host(s, [] {});
    CHECK_FALSE(s.is_complete());
    gate.open();
    s.synchronize();
    CHECK(s.is_complete());
}

TEST_CASE("synchronize_stream and synchronize_device wait for all work") {
    const Drained drained;
    std::atomic<int> ran{0};
    const Stream a(test_device()), b(test_device());
    for (int i = 0; i < 50; ++i) {
        launch_host(a, [&] { ++ran; });
        launch_host(b, [&] { ++ran; });
    }
    synchronize_stream(a);
    CHECK(ran >= 50);
    synchronize_device(test_device());
    CHECK(ran == 100);
    launch_host(b, [&] { ++ran; });
    synchronize();
    CHECK(ran == 101);
}

TEST_CASE("synchronize_device waits for streams that were destroyed with work to do") {
    const Drained drained;
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
        const Stream s(test_device());
        launch_host(s, [&] { ++ran; });
    }
    synchronize_device(test_device());
    CHECK(ran == 100);
}

TEST_CASE("a hundred thousand operations on one stream keep their order") {
    const std::size_t n = repetitions(100'000, 5'000);
    const Drained drained;
    std::size_t next = 0, wrong = 0;
    const Stream s(test_device());
    for (std::size_t i = 0; i < n; ++i) launch_host(s, [&, i] { wrong += next++ != i; });
    s.synchronize();
    CHECK(next == n);
    CHECK(wrong == 0);
}

TEST_CASE("ten thousand streams work") {
    const std::size_t n = repetitions(10'000, 200);
    const Drained drained;
    std::atomic<std::size_t> ran{0};
    Gate gate;
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < n; ++i) {
        streams.emplace_back(test_device());
        if (test_device().is_cpu())
            gate.hold(streams.back());  // on a GPU, so many held streams would occupy all queues
        launch_host(streams.back(), [&] { ++ran; });
    }
    if (test_device().is_cpu()) CHECK(ran == 0);
    gate.open();
    for (const Stream& s : streams) s.synchronize();
    CHECK(ran == n);
}

TEST_CASE("a chain through a thousand streams runs in order") {
    const OrderLog seen;
    const Drained drained;
    const std::size_t n = repetitions(1000, 100);
    Gate gate;
    std::vector<Stream> streams;
    Strings expected;
    for (std::size_t i = 0; i < n; ++i) {
        streams.emplace_back(test_device());
        if (i == 0) gate.hold(streams[0]);
        else streams[i].wait_stream(streams[i - 1]);
        expected.push_back(std::to_string(i));
        seen.note(streams[i], expected.back());
    }
    gate.open();
    streams.back().synchronize();
    CHECK(seen.seen() == expected);
}

TEST_CASE("among ready work of a CPU device the more urgent stream goes first") {
    const Device d = test_device();
    if (!d.is_cpu())
        HEDDLE_SKIP(
            "a GPU's priorities are hints to its scheduler: nothing follows from them for sure");
    const OrderLog seen;
    const Drained drained;
    // Keeps all workers busy. Then releases one, which runs ready work by priority.
    const int workers = d.info().processors;
    std::vector<Flag> release(static_cast<std::size_t>(workers));
    std::atomic<int> busy{0};
    struct ReleaseAll {
        std::vector<Flag>& flags;
        ~ReleaseAll() {
            for (const Flag& f : flags) f.set();
        }
    } release_all{release};
    std::vector<Stream> blockers;
    for (const Flag& flag : release) {
        blockers.emplace_back(d);
        launch_host(blockers.back(), [&busy, flag] {
            ++busy;
            flag.wait();
        });
    }
    REQUIRE(eventually([&] { return busy == workers; }));
    const PriorityRange range = d.priorities();
    const Stream low(d, {.priority = range.least, .name = "low"}),
        high(d, {.priority = range.greatest, .name = "high"});
    seen.note(low, "low");
    seen.note(high, "high");
    release[0].set();
    REQUIRE(eventually([&] { return seen.seen().size() == 2; }));
    CHECK(seen.seen() == Strings{"high", "low"});
}

TEST_CASE("a thread's own stream stays the same, and is another in another thread") {
    const StreamRef mine = Stream::per_thread(test_device());
    CHECK(mine == Stream::per_thread(test_device()));
    CHECK(mine.device() == test_device());
    CHECK_FALSE(mine == default_stream(test_device()));
    std::uint64_t other = 0;
    std::thread([&] { other = Stream::per_thread(test_device()).id(); }).join();
    CHECK(other != 0);
    CHECK(other != mine.id());
}

TEST_CASE("work of a thread's own stream outlives the thread") {
    const OrderLog seen;
    DrainedGate gate;
    std::thread([&] {
        const StreamRef mine = Stream::per_thread(test_device());
        gate.hold(mine);
        seen.note(mine, "after the thread");
    }).join();
    CHECK(seen.seen().empty());
    gate.open();
    CHECK(eventually([&] { return seen.has("after the thread"); }));
}
