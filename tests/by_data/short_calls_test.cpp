// Operations that are shorter than a wait stay on one stream. Longer ones use several streams.
#include "core/concurrency/short_calls.hpp"

#include "kernels.hpp"
#include "manual_clock.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <algorithm>
#include <vector>

using namespace heddle_test;
using detail::CallWindow;
using detail::ShortCalls;

namespace {

constexpr SourceLocation place{"a.cpp", 1}, other_place{"a.cpp", 2};

/// Returns a window of a call's operations, which begins at `began` and ends at `position`.
CallWindow window_of(ShortCalls::Index call, std::int64_t began, std::uint64_t position) {
    CallWindow window;
    window.start(began);
    while (!window.add(call, false)) {}
    window.end(position);
    return window;
}

}  // namespace

TEST_CASE("a call is short when many operations of it were enqueued and done in a short time") {
    ShortCalls calls;
    const ShortCalls::Index call = calls.find(place, 8);
    CHECK(!calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 8, 1'001'000);  // the device may have run other work
    CHECK(!calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 8, 6'000);
    CHECK(calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 8, 1'001'000);
    CHECK(calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 7, 6'000);  // the last operation is not complete
    CHECK(!calls.is_short(call));
}

TEST_CASE("calls differ by their place, and by how much memory they use") {
    ShortCalls calls;
    const ShortCalls::Index call = calls.find(place, 1'000);
    calls.set_short(call, true);
    CHECK(calls.is_short(calls.find(place, 1'020)));
    CHECK(!calls.is_short(calls.find(place, 100'000)));
    CHECK(!calls.is_short(calls.find(other_place, 1'000)));
    int line = 2;  // calls that share an index are not confused
    while (calls.is_short(calls.find(place, 1'000)) && line < 10'000)
        CHECK(!calls.is_short(calls.find({"b.cpp", static_cast<std::uint32_t>(++line)}, 1'000)));
    CHECK(line < 10'000);
}

namespace {

/// A DataOrder with several streams, and arrays that all its streams may use immediately.
struct Spread {
    static constexpr int streams = 3;
    std::vector<Array<int>> x;
    DataOrder order;
    std::vector<StreamRef> used;  ///< streams of the operations, in call order

    explicit Spread(DataSpread spread = DataSpread::automatic)
        : order(test_device(), {.streams = streams, .spread = spread}) {
        for (int i = 0; i < 5; ++i) x.push_back(zeros<int>(test_device(), 1));
        synchronize_device(test_device());
    }
    template <class F> void enqueue(Array<int>& to, F&& function) {
        order.task({writes(to)}, [&](StreamRef s) {
            used.push_back(s);
            function(s);
        });
    }
    void add(Array<int>& to) {
        enqueue(to, [&](StreamRef s) { launch(s, Add{}, dim(1), to, 1); });
    }
    /// Enqueues independent operations. Only a few of them are pending at any time.
    void add_independent(int count = 200) {
        for (int i = 0; i < count; ++i) {
            add(x[static_cast<std::size_t>(i % 4)]);
            if (i % 4 == 3) order.synchronize();
        }
    }
    /// Returns how many different streams the newest `count` operations have used.
    std::size_t streams_of_newest(int count) const {
        std::vector<std::uint64_t> ids;
        for (auto s = used.end() - count; s != used.end(); ++s) ids.push_back(s->id());
        std::ranges::sort(ids);
        return static_cast<std::size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
    }
};

constexpr std::int64_t a_second = 1'000'000'000;

}  // namespace

TEST_CASE("by data: short operations stay on one stream, and leave it when one takes long",
          "[by_data]") {
    if (test_device().is_cuda()) HEDDLE_SKIP("nobody sees in passing how far a GPU has come");
    const ManualClock no_time_passes;
    const Here here;
    Spread on;
    on.add_independent();
    CHECK(on.streams_of_newest(40) == 1);
    DrainedGate gate;
    on.enqueue(on.x[0], [&](StreamRef s) { gate.hold(s); });
    for (int i = 0; i < 60; ++i) on.add(on.x[0]);
    on.add(on.x[4]);
    CHECK(to_host(on.order, on.x[4]) == Ints{1});  // not held by the gate
    CHECK(on.used.back() != on.used[on.used.size() - 2]);
}

TEST_CASE("by data: long operations are spread", "[by_data]") {
    const ManualClock clock(a_second);
    const Here here;
    Spread on;
    on.add_independent();
    CHECK(on.streams_of_newest(40) == Spread::streams);
}

TEST_CASE("by data: all operations are spread where that is asked for, also short ones",
          "[by_data]") {
    const ManualClock no_time_passes;
    const Here here;
    Spread on(DataSpread::always);
    on.add_independent();
    CHECK(on.streams_of_newest(40) == Spread::streams);
}

TEST_CASE("by data: no operation is spread where that is asked for, also no long one",
          "[by_data]") {
    const ManualClock clock(a_second);
    const Here here;
    Spread on(DataSpread::never);
    on.add_independent(4);  // these wait until the arrays exist
    const std::uint64_t waits = on.order.stats().waits_inserted;
    on.add_independent();
    CHECK(on.streams_of_newest(204) == 1);
    CHECK(on.order.stats().waits_inserted == waits);
    CHECK(to_host(on.order, on.x[0]) == Ints{51});
}

TEST_CASE("by data: a chain stays on its stream when its calls turn out to be short", "[by_data]") {
    const ManualClock no_time_passes;
    const Here here;
    Spread on;
    on.add(on.x[0]);  // waits until the array exists
    const std::uint64_t waits = on.order.stats().waits_inserted;
    for (int i = 0; i < 100; ++i) {
        on.add(on.x[0]);
        on.order.synchronize();
    }
    CHECK(on.streams_of_newest(101) == 1);
    CHECK(on.order.stats().waits_inserted == waits);
}
