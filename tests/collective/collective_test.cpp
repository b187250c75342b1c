// Collectives of one process: results for every kind, type and size, with and without access, and
// invalid calls. collective_order_test.cpp tests their order.
#include "collective/collective.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace heddle_test;

namespace {

/// Whether kernels may access the other ranks' arrays.
constexpr bool ways[] = {true, false};

template <class T>
void check_type(std::initializer_list<ReduceOp> ops, const std::vector<Device>& devices) {
    for (const bool access : ways) {
        DeviceGroup group = by_copies(devices, access);
        for (const ReduceOp op : ops)
            for (const Kind kind : {Kind::reduce, Kind::reduce_scatter, Kind::all_reduce}) {
                Trial<T> trial(kind, devices, 1003, devices.size() - 1, false, op);
                trial.run(group);
                INFO(name(kind) << " " << to_string(op) << " of " << sizeof(T) << " bytes, access "
                                << access);
                CHECK(trial.is_right());
            }
    }
}

std::optional<Error> refused(const std::function<void()>& call) {
    const OpCounter counted;
    const auto error = error_of(call);
    const OpStats since = counted.stats();
    CHECK(since.launches + since.copies + since.waits_inserted + since.events_recorded == 0);
    return error && error->code() == ErrorCode::usage ? error : std::nullopt;
}
}  // namespace

TEST_CASE("every collective gives what it should, with any root, size and number of ranks, in "
          "place or not",
          "[multi][collective]") {
    for (std::size_t n = 1; n <= first_devices(4).size(); ++n) {
        const std::vector<Device> devices = first_devices(n);
        for (const bool access : ways) {
            DeviceGroup group = by_copies(devices, access);
            CHECK(group.size() == n);
            CHECK(group.devices() == devices);
            for (const Kind kind : all_kinds)
                for (const bool in_place : {false, true})
                    for (const std::size_t count :
                         {0u, 1u, 2u, 3u, 5u, 1000u, 3072u, 5120u, 70'001u})
                        for (std::size_t root = 0; root < (has_root(kind) ? n : 1); ++root) {
                            Trial<float> trial(kind, devices, count, root, in_place);
                            trial.run(group);
                            INFO(name(kind) << " of " << count << " on " << n << ", root " << root
                                            << ", in place " << in_place << ", access " << access);
                            CHECK(trial.is_right());
                        }
        }
    }
}

TEST_CASE("large arrays, which go another way, come out the same", "[multi][collective]") {
    const std::vector<Device> devices = first_devices(4);
    constexpr std::size_t count = 2'200'003;  // over 8 MiB, so it is staged in pieces
    for (const bool access : ways) {
        DeviceGroup group = by_copies(devices, access);
        for (const Kind kind : all_kinds)
            for (const bool in_place : {false, true}) {
                if (HEDDLE_TEST_TSAN != 0 && in_place != access) continue;  // saves time
                Trial<float> trial(kind, devices, count, devices.size() - 1, in_place);
                trial.run(group);
                INFO(name(kind) << ", in place " << in_place << ", access " << access);
                CHECK(trial.is_right());
            }
    }
}

TEST_CASE("reductions take all types and operations", "[multi][collective]") {
    using Op = ReduceOp;
    const std::vector<Device> devices = first_devices(4);
    check_type<float>({Op::sum, Op::product, Op::min, Op::max, Op::average}, devices);
    check_type<double>({Op::sum, Op::product, Op::min, Op::max, Op::average}, devices);
    check_type<std::int8_t>({Op::sum, Op::product, Op::min, Op::max}, devices);
    check_type<std::uint8_t>({Op::sum, Op::product, Op::min, Op::max}, devices);
    check_type<std::int32_t>({Op::sum, Op::product, Op::min, Op::max}, devices);
    check_type<std::uint32_t>({Op::sum, Op::product, Op::min, Op::max}, devices);
    check_type<std::int64_t>({Op::sum, Op::product, Op::min, Op::max}, devices);
    check_type<std::uint64_t>({Op::sum, Op::product, Op::min, Op::max}, devices);
}

TEST_CASE("more ranks than one kernel combines are combined in their order too",
          "[multi][collective][twelve]") {
    const std::vector<Device> devices = first_devices(20);
    if (devices.size() < 9) HEDDLE_SKIP("needs nine devices");
    for (const bool access : ways) {
        DeviceGroup group = by_copies(devices, access);
        for (const Kind kind : {Kind::reduce, Kind::reduce_scatter, Kind::all_reduce})
            for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::max})
                for (const bool in_place : {false, true})
                    for (const std::size_t count : {5u, 1003u, 200'003u}) {
                        Trial<float> trial(kind, devices, count, 2, in_place, op);
                        trial.run(group);
                        INFO(name(kind) << " " << to_string(op) << " of " << count << ", in place "
                                        << in_place);
                        CHECK(trial.is_right());
                    }
    }
}

TEST_CASE("negative numbers, overflow and NaN are combined as promised", "[multi][collective]") {
    const std::vector<Device> devices = first_devices(2);
    if (devices.size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DeviceGroup group = by_copies(devices);
    const auto reduced = [&](ReduceOp op, auto x, auto y) {
        using T = decltype(x);
        const std::vector<Stream> streams = streams_of(devices);
        std::vector<Array<T>> arrays;
        arrays.push_back(full<T>(streams[0], 40, x));
        arrays.push_back(full<T>(streams[1], 40, y));
        group.all_reduce(streams, op, arrays);
        const std::vector<T> got = to_host(streams[1], arrays[1]);
        CHECK(got.front() == got.back());
        return got[17];
    };
    CHECK(reduced(ReduceOp::min, -3, 2) == -3);
    CHECK(reduced(ReduceOp::max, -3, 2) == 2);
    CHECK(reduced(ReduceOp::min, 3u, 0xfffffff0u) == 3u);
    CHECK(reduced(ReduceOp::sum, INT32_MAX, 1) == INT32_MIN);
    CHECK(reduced(ReduceOp::product, INT64_MAX, std::int64_t{2}) == -2);
    CHECK(reduced(ReduceOp::sum, std::int8_t{100}, std::int8_t{100}) == std::int8_t{-56});
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
        const std::vector<Stream> streams = streams_of(devices);
        const float nan = std::numeric_limits<float>::quiet_NaN();
        for (const bool first : {false, true}) {
            std::vector<Array<float>> arrays;
            arrays.push_back(full<float>(streams[0], 40, first ? nan : 1));
            arrays.push_back(full<float>(streams[1], 40, first ? 1 : nan));
            group.all_reduce(streams, op, arrays);
            CHECK(std::isnan(to_host(streams[0], arrays[0])[39]));
        }
    }
}

TEST_CASE(
    "without streams a collective runs on the devices' current ones, with arrays as with views",
    "[multi][collective]") {
    const std::vector<Device> devices = first_devices(3);
    const std::vector<Stream> mine = streams_of(devices);
    DeviceGroup group = by_copies(devices);
    std::vector<Array<int>> x, y;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        x.push_back(full<int>(mine[i], 100, static_cast<int>(i) + 1));
        y.push_back(zeros<int>(mine[i], 100));
    }
    DrainedGate gate;
    Flag reached;
    {
        std::vector<std::unique_ptr<ScopedStream>> in;
        for (const Stream& s : mine) in.push_back(std::make_unique<ScopedStream>(s));
        gate.hold(mine[0]);
        group.all_reduce(ReduceOp::sum, x, y);
        group.all_reduce(ReduceOp::max, y);
        launch_host(mine.back(), [reached] { reached.set(); });
        while (!in.empty()) in.pop_back();
    }
    for (const Device d : devices) finish_work(d);
    CHECK_FALSE(reached.is_set());
    gate.open();
    const int n = static_cast<int>(devices.size());
    CHECK(to_host(mine.back(), y.back()) == std::vector<int>(100, n * (n + 1) / 2));
}

TEST_CASE("what only moves may be of any type", "[multi][collective]") {
    struct Pair {
        short a;
        char b;
    };
    const std::vector<Device> devices = first_devices(2);
    const std::vector<Stream> streams = streams_of(devices);
    DeviceGroup group = by_copies(devices);
    std::vector<Array<Pair>> x;
    for (std::size_t i = 0; i < devices.size(); ++i)
        x.push_back(full<Pair>(streams[i], 7, Pair{static_cast<short>(i), 'x'}));
    group.broadcast(streams, 0, x);
    CHECK(to_host(streams.back(), x.back())[6].a == 0);
}

TEST_CASE("the ranks of a group are its devices in the order passed", "[multi][collective]") {
    std::vector<Device> devices = first_devices(3);
    std::reverse(devices.begin(), devices.end());
    DeviceGroup group = by_copies(devices);
    Trial<int> trial(Kind::all_gather, devices, 1000);
    trial.run(group);
    CHECK(trial.is_right());
    DeviceGroup moved = std::move(group);
    trial.give(1);
    trial.run(moved);
    CHECK(trial.is_right());
    CHECK(group.size() == 0);
    CHECK(mentions(refused([&] { trial.run(group); }), "moved from"));
}

TEST_CASE("a group keeps its scratch memory while the streams stay the same",
          "[multi][collective]") {
    const std::vector<Device> devices = first_devices(3);
    if (devices.size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DeviceGroup group = by_copies(devices, false);
    Trial<float> trial(Kind::all_reduce, devices, 1000, 0, true);
    trial.run(group);
    const OpCounter counted;
    trial.run(group);
    trial.run(group);
    CHECK(counted.stats().allocations == 0);
    Trial<float> other(Kind::all_reduce, devices, 1000, 0, true);
    const OpCounter again;
    other.run(group);
    CHECK(again.stats().allocations == devices.size());
    CHECK(other.is_right());
}

TEST_CASE("a group needs devices of one kind, each once", "[collective]") {
    const Device device = test_device();
    CHECK(mentions(refused([&] { DeviceGroup({}); }), "at least one"));
    CHECK(mentions(refused([&] { DeviceGroup({device, device}); }), "twice"));
    if (test_device().is_cuda())
        CHECK(mentions(refused([&] { DeviceGroup({device, cpu_device()}); }), "different kinds"));
}

TEST_CASE("a wrong call is refused before anything is enqueued, and the error says what is wrong",
          "[multi][collective]") {
    const std::vector<Device> devices = first_devices(2);
    if (devices.size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    const OpCounter counting;
    DeviceGroup group = by_copies(devices);
    Trial<int> t(Kind::all_reduce, devices, 10);
    const auto with = [&](std::size_t rank, View<int> view) {
        auto views = t.all_sent();
        views[rank] = view;
        return views;
    };
    std::vector<StreamRef> streams(t.streams.begin(), t.streams.end());

    CHECK(mentions(refused([&] { group.broadcast(streams, 2, t.a); }),
                   "rank 2 does not exist: use 0 to 1"));
    {
        ScopedCapture one(streams[0]), another(streams[1]);
        CHECK(mentions(refused([&] { group.all_reduce(streams, ReduceOp::sum, t.a); }),
                       "different captures"));
        CHECK(another.end().size() == 0);
        CHECK(one.end().size() == 0);
    }
    CHECK(
        mentions(refused([&] { group.all_reduce(ReduceOp::sum, with(1, t.a[1].view().first(9))); }),
                 "9 elements"));
    CHECK(
        mentions(refused([&] { group.all_reduce(ReduceOp::sum, with(1, t.a[0])); }), "memory of"));
    CHECK(
        mentions(refused([&] { group.all_reduce(ReduceOp::sum, with(0, View<int>(nullptr, 10))); }),
                 "null"));
    std::vector<int> host(10);
    CHECK(mentions(refused([&] { group.all_reduce(ReduceOp::sum, with(0, View<int>(host))); }),
                   "host memory"));
    Array<int> locked = pinned<int>(10);
    CHECK(mentions(refused([&] { group.all_reduce(ReduceOp::sum, with(0, locked)); }),
                   "host memory"));
    auto views = t.all_sent();
    views.pop_back();
    CHECK(mentions(refused([&] { group.all_reduce(ReduceOp::sum, views); }), "1 views"));
    CHECK(mentions(refused([&] { group.all_reduce(ReduceOp::average, t.a); }), "floating-point"));
    CHECK(mentions(refused([&] { group.all_reduce(static_cast<ReduceOp>(99), t.a); }),
                   "ReduceOp 99 does not exist"));
    CHECK(mentions(refused([&] { group.gather(0, t.a, t.b[0]); }), "20 in total"));
    CHECK(mentions(refused([&] { group.scatter(0, t.a[0], t.b); }), "20 in total"));
    CHECK(mentions(refused([&] { group.reduce(ReduceOp::sum, 1, t.a, t.b[0]); }), "memory of"));
    CHECK(mentions(refused([&] {
                       group.all_gather(std::vector{t.a[0].view().last(5), t.b[1].view().first(5)},
                                        t.a);
                   }),
                   "overlap"));

    CHECK(mentions(refused([&] { group.all_reduce(std::vector{streams[0]}, ReduceOp::sum, t.a); }),
                   "1 streams"));
    CHECK(mentions(
        refused([&] { group.all_reduce(std::vector{streams[1], streams[0]}, ReduceOp::sum, t.a); }),
        "pass a stream of the rank's device"));
    CHECK(mentions(refused([&] {
                       group.all_reduce(std::vector{streams[0], StreamRef()}, ReduceOp::sum, t.a);
                   }),
                   "destroyed"));
    View<int> gone;
    {
        Array<int> short_lived = zeros<int>(t.streams[0], 10);
        gone = short_lived.view();
    }
    CHECK(refused([&] { group.all_reduce(streams, ReduceOp::sum, with(0, gone)); }));
    synchronize_all(t.streams);
}
