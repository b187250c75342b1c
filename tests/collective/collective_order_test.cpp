// Collectives of one process: their order, captures, batches, failures and lifetimes.
#include "collective/collective.hpp"
#include "kernels.hpp"

#include <thread>

using namespace heddle_test;

namespace {

constexpr bool ways[] = {true, false};
constexpr std::size_t small = 1000,
                      sliced = 70'001;  // numbers of elements; a collective of `sliced` uses slices

/// A trial that can restore its inputs from device memory.
struct Again : Trial<float> {
    using Trial<float>::Trial;
    std::vector<Array<float>> fresh;
    std::vector<Array<float>> seen;  ///< contents of `b` before the collective

    void prepare(unsigned seed) {
        give(seed);
        fresh.clear();
        for (std::size_t i = 0; i < n; ++i) {
            fresh.push_back(empty<float>(streams[i], sent(i).size()));
            copy(streams[i], fresh[i], sent(i));
            seen.push_back(zeros<float>(streams[i], count));
            spoil(i);
        }
        synchronize_all(streams);
    }
    void renew(std::size_t i) { copy(streams[i], sent(i), fresh[i]); }
};

std::vector<Device> devices_or_one() { return first_devices(4); }

#define SKIP_WITHOUT(count)                                                                        \
    if (test_devices().size() < (count)) HEDDLE_SKIP("needs " #count " devices of one kind")

}  // namespace

TEST_CASE(
    "a result waits for every rank that contributes, and what comes before and after stays apart",
    "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    for (const bool access : ways)
        for (const Kind kind : all_kinds)
            for (const std::size_t count : {small, sliced})
                for (std::size_t held = 0; held < devices.size(); ++held) {
                    Again t(kind, devices, count, devices.size() - 1);
                    t.prepare(1);
                    DeviceGroup group = by_copies(devices, access);
                    std::vector<Flag> reached(t.n);
                    DrainedGate gate(t.streams[held]);
                    for (std::size_t i = 0; i < t.n; ++i) {
                        t.renew(i);
                        copy(t.streams[i], t.seen[i], t.b[i]);
                    }
                    t.run(group);
                    for (std::size_t i = 0; i < t.n; ++i) {
                        launch_host(t.streams[i], [flag = reached[i]] { flag.set(); });
                        if (kind != Kind::broadcast || i == t.root) fill(t.streams[i], t.a[i], 99);
                    }
                    for (const Device d : devices) finish_work(d);
                    INFO(name(kind)
                         << " of " << count << ", rank " << held << " held, access " << access);
                    for (std::size_t i = 0; i < t.n; ++i)
                        if (t.receives(i) && t.sends(held)) CHECK_FALSE(reached[i].is_set());
                    CHECK_FALSE(reached[held].is_set());
                    gate.open();
                    for (std::size_t i = 0; i < t.n; ++i) {
                        CHECK((to_host(t.streams[i], t.seen[i]) == std::vector<float>(count, 78)));
                        if (t.receives(i) && (kind != Kind::broadcast || i != t.root))
                            CHECK((to_host(t.streams[i], t.received(i)) == t.expected(i)));
                    }
                }
}

TEST_CASE("a rank's arrays are its own again only when those who read them have",
          "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    for (const Kind kind : all_kinds) {
        Again t(kind, devices, small, 0);
        t.prepare(2);
        DeviceGroup group = by_copies(devices);
        const std::size_t reader = kind == Kind::gather || kind == Kind::reduce ? 0 : t.n - 1;
        const std::size_t read = reader == 0 ? t.n - 1 : 0;
        Flag free;
        DrainedGate gate;
        for (std::size_t i = 0; i < t.n; ++i) t.renew(i);
        gate.hold(t.streams[reader]);
        t.run(group);
        launch_host(t.streams[read], [free] { free.set(); });
        for (const Device d : devices) finish_work(d);
        INFO(name(kind));
        CHECK_FALSE(free.is_set());
        gate.open();
        CHECK(t.is_right());
    }
}

TEST_CASE("receivers of a small broadcast or a scatter do not wait for each other",
          "[multi][collective]") {
    SKIP_WITHOUT(3);
    const std::vector<Device> devices = devices_or_one();
    for (const Kind kind : {Kind::broadcast, Kind::scatter}) {
        Trial<float> t(kind, devices, small);
        DeviceGroup group = by_copies(devices);
        DrainedGate gate(t.streams[1]);
        t.run(group);
        CHECK((to_host(t.streams[2], t.received(2)) == t.expected(2)));  // need not wait for rank 1
    }
}

TEST_CASE("a barrier lets nobody pass before all have come", "[multi][collective]") {
    const std::vector<Device> devices = devices_or_one();
    const std::vector<Stream> streams = streams_of(devices);
    DeviceGroup group = by_copies(devices);
    std::vector<Flag> passed(devices.size());
    DrainedGate gate(streams.back());
    group.barrier(streams);
    for (std::size_t i = 0; i < devices.size(); ++i)
        launch_host(streams[i], [flag = passed[i]] { flag.set(); });
    for (const Device d : devices) finish_work(d);
    for (const Flag& flag : passed) CHECK_FALSE(flag.is_set());
    gate.open();
    synchronize_all(streams);
}

TEST_CASE("two groups work on the same devices at once", "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    DeviceGroup one = by_copies(devices), two = by_copies(devices, false);
    Trial<float> t(Kind::all_reduce, devices, small), u(Kind::all_reduce, devices, small, 0, true);
    DrainedGate gate(t.streams[0]);
    t.run(one);
    u.run(two);
    CHECK(u.is_right());  // would hang if it waited for the other group
    CHECK_FALSE(t.streams[1].is_complete());
    gate.open();
    CHECK(t.is_right());
}

TEST_CASE("one group serves calls on several sets of streams that are under way together",
          "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    // Without peer access, a CUDA driver copies between GPUs through host memory. There, one copy
    // waits for the other.
    DeviceGroup group = by_copies(devices, devices[0].is_cuda());
    Trial<float> t(Kind::all_reduce, devices, small, 0, true, ReduceOp::sum, 1);
    Trial<float> u(Kind::all_reduce, devices, small, 0, true, ReduceOp::sum, 2);
    DrainedGate gate(t.streams[0]);
    t.run(group);
    u.run(group);
    CHECK(u.is_right());  // would hang if it waited for the first call
    gate.open();
    CHECK(t.is_right());
}

TEST_CASE("threads with groups of their own do not disturb each other", "[multi][collective]") {
    const std::vector<Device> devices = devices_or_one();
    std::atomic<int> right{0};
    const auto work = [&](bool access) {
        DeviceGroup group = by_copies(devices, access);
        Trial<float> t(Kind::all_reduce, devices, small);
        for (unsigned i = 0; i < 20; ++i) {
            t.give(i);
            t.run(group);
            if (t.is_right()) ++right;
        }
    };
    std::thread other(work, true);
    work(false);
    other.join();
    CHECK(right == 40);
}

TEST_CASE("arrays may be freed right after a collective, and the group too",
          "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    for (const bool access : ways) {
        Trial<float> t(Kind::all_reduce, devices, small);
        DrainedGate gate(t.streams[0]);
        {
            DeviceGroup group = by_copies(devices, access);
            t.run(group);
        }
        t.a.clear();
        std::vector<Array<float>> others;  // would reuse memory if it were freed too early
        for (const Device d : devices) {
            const Stream s(d);
            for (int k = 0; k < 4; ++k) others.push_back(full<float>(s, small, -1));
        }
        gate.open();
        CHECK(t.is_right());
    }
}

TEST_CASE("addresses within arrays are the arrays' memory to a collective too",
          "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    for (const bool access : ways) {
        DrainedGate gate;
        const std::vector<Stream> streams = streams_of(devices);
        std::vector<Array<float>> x, y;
        std::vector<View<const float>> send;
        std::vector<View<float>> receive;
        for (const Stream& s : streams) {
            x.push_back(full<float>(s, small, 1));
            y.push_back(zeros<float>(s, small));
            send.emplace_back(x.back().data(), small);
            receive.emplace_back(y.back().data(), small);
        }
        synchronize_all(streams);
        gate.hold(streams[0]);
        DeviceGroup group = by_copies(devices, access);
        group.all_reduce(streams, ReduceOp::sum, send, receive);
        x.clear();
        std::vector<Array<float>> others;  // would reuse memory if it were freed too early
        for (const Device d : devices) {
            const Stream s(d);
            for (int k = 0; k < 4; ++k) others.push_back(full<float>(s, small, -1));
        }
        gate.open();
        const auto ranks = static_cast<float>(devices.size());
        for (std::size_t i = 0; i < devices.size(); ++i)
            CHECK(to_host(streams[i], y[i]) == std::vector<float>(small, ranks));
    }
}

TEST_CASE("a captured collective runs at every launch, with what its arrays hold then",
          "[multi][collective]") {
    const std::vector<Device> devices = devices_or_one();
    for (const bool access : ways) {
        DeviceGroup group = by_copies(devices, access);
        for (const Kind kind : all_kinds)
            for (const std::size_t count : {small, sliced})
                for (const bool in_place : {false, true}) {
                    Again t(kind, devices, count, devices.size() - 1, in_place);
                    t.prepare(0);
                    Graph graph = capture(t.streams[0], [&] { t.run(group); });
                    INFO(name(kind)
                         << " of " << count << ", in place " << in_place << ", access " << access);
                    for (unsigned launch = 1; launch < 4; ++launch) {
                        t.prepare(launch);
                        for (std::size_t i = 0; i < t.n; ++i) {
                            t.renew(i);
                            t.streams[0].wait_stream(t.streams[i]);
                        }
                        graph.launch(t.streams[0]);
                        for (std::size_t i = 0; i < t.n; ++i)
                            t.streams[i].wait_stream(t.streams[0]);
                        CHECK(t.is_right());
                    }
                    t.give(9);
                    t.run(group);  // outside captures, the group still works
                    CHECK(t.is_right());
                }
    }
}

TEST_CASE("a captured collective has scratch memory of its own, whatever the group does meanwhile",
          "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    DeviceGroup group = by_copies(devices, false);
    Trial<float> t(Kind::all_reduce, devices, small, 0, true);
    t.run(group);
    Graph graph = capture(t.streams[0], [&] { t.run(group); });
    Trial<float> other(Kind::all_reduce, devices, small * 10, 0, true);
    other.run(group);
    CHECK(other.is_right());
    t.give(1);
    for (const Stream& s : t.streams) t.streams[0].wait_stream(s);
    graph.launch(t.streams[0]);
    for (const Stream& s : t.streams) s.wait_stream(t.streams[0]);
    CHECK(t.is_right());
}

TEST_CASE("a capture on the current stream takes the other devices' current streams in",
          "[multi][collective]") {
    const std::vector<Device> devices = devices_or_one();
    DeviceGroup group = by_copies(devices);
    Again t(Kind::reduce, devices, small, devices.size() - 1);
    t.prepare(3);
    std::vector<std::unique_ptr<ScopedStream>> in;
    for (const Stream& s : t.streams) in.push_back(std::make_unique<ScopedStream>(s));
    Graph graph = capture(t.streams.back(), [&] {
        t.renew(t.n - 1);
        t.run_on_current(group);
        launch(t.streams.back(), Multiply{}, dim(small), t.b.back(), 2.0f);
    });
    for (const Stream& s : t.streams) CHECK_FALSE(s.is_capturing());
    for (std::size_t i = 0; i + 1 < t.n; ++i) t.renew(i);
    synchronize_all(t.streams);
    for (int k = 0; k < 2; ++k) graph.launch(t.streams.back());
    std::vector<float> wanted = t.expected(t.root);
    for (float& x : wanted) x *= 2;
    CHECK((to_host(t.streams.back(), t.b.back()) == wanted));
    while (!in.empty()) in.pop_back();
}

TEST_CASE("collectives in a batch", "[multi][collective]") {
    const std::vector<Device> devices = devices_or_one();
    for (const bool access : ways) {
        DeviceGroup group = by_copies(devices, access);
        for (const Kind kind : {Kind::broadcast, Kind::all_gather, Kind::all_reduce}) {
            Trial<float> t(kind, devices, small, 0, kind == Kind::all_reduce);
            std::vector<std::unique_ptr<ScopedStream>> in;
            for (const Stream& s : t.streams) in.push_back(std::make_unique<ScopedStream>(s));
            Batch step({.on_cpu = true});
            for (unsigned i = 0; i < 3; ++i) {
                t.give(i);
                step.run([&] { t.run_on_current(group); });
                CHECK(t.is_right());
            }
            while (!in.empty()) in.pop_back();
        }
    }
}

TEST_CASE("a rank's failure reaches all that need it, and the group goes on afterwards",
          "[multi][collective]") {
    SKIP_WITHOUT(2);
    const std::vector<Device> devices = devices_or_one();
    for (const bool access : ways) {
        DeviceGroup group = by_copies(devices, access);
        for (const Kind kind : all_kinds) {
            Trial<float> t(kind, devices, small, 0, kind == Kind::all_reduce);
            const std::size_t failed = t.sends(t.n - 1) ? t.n - 1 : 0;
            INFO(name(kind) << ", access " << access);
            poison(t.streams[failed], "no data");
            t.run(group);
            for (std::size_t i = 0; i < t.n; ++i) {
                if (!t.receives(i)) continue;
                CHECK(cause_of(thrown_by([&] { t.streams[i].synchronize(); })) == "no data");
            }
            Trial<float> elsewhere(kind, devices, small);
            elsewhere.run(group);
            CHECK(elsewhere.is_right());
            for (const Stream& s : t.streams) s.clear_error();
            t.give(1);
            t.run(group);
            CHECK(t.is_right());
        }
    }
}

TEST_CASE("a receiver's failure does not reach the other receivers", "[multi][collective]") {
    SKIP_WITHOUT(3);
    const std::vector<Device> devices = devices_or_one();
    DeviceGroup group = by_copies(devices);
    Trial<float> t(Kind::broadcast, devices, small);
    poison(t.streams[1], "no room");
    t.run(group);
    CHECK((to_host(t.streams[2], t.received(2)) == t.expected(2)));
    for (const Stream& s : t.streams) s.clear_error();
}
