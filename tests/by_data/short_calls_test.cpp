// Operations that are shorter than a wait stay on one stream; long ones are spread.
#include "core/concurrency/short_calls.hpp"

#include "kernels.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <algorithm>
#include <vector>

using namespace heddle_test;
using detail::CallWindow;
using detail::ShortCalls;

namespace {

constexpr SourceLocation place{"a.cpp", 1}, other_place{"a.cpp", 2};

/// Returns a window of a call's operations: enqueued from `began` on, the last at this position.
CallWindow window_of(ShortCalls::Index call, std::int64_t began, std::uint64_t position) {
    CallWindow window;
    window.start(began);
    while (!window.add(call, false)) {}
    window.end(position);
    return window;
}

constexpr auto is_other = [](StreamRef a, StreamRef b) { return a != b; };

}  // namespace

TEST_CASE("a call is short when many operations of it were enqueued and done in a short time") {
    ShortCalls calls;
    const ShortCalls::Index call = calls.find(place, 8);
    CHECK(!calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 8, 1'001'000);  // nobody knows what took the time
    CHECK(!calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 8, 6'000);
    CHECK(calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 8, 1'001'000);
    CHECK(calls.is_short(call));
    window_of(call, 1'000, 8).judge(calls, 7, 6'000);  // it is not done
    CHECK(!calls.is_short(call));
}

TEST_CASE("calls differ by their place, and by how much memory they use") {
    ShortCalls calls;
    const ShortCalls::Index call = calls.find(place, 1'000);
    calls.set_short(call, true);
    CHECK(calls.is_short(calls.find(place, 1'020)));
    CHECK(!calls.is_short(calls.find(place, 100'000)));
    CHECK(!calls.is_short(calls.find(other_place, 1'000)));
    int line = 2;  // many calls push each other out, and are not mixed up
    while (calls.is_short(calls.find(place, 1'000)) && line < 10'000)
        CHECK(!calls.is_short(calls.find({"b.cpp", static_cast<std::uint32_t>(++line)}, 1'000)));
    CHECK(line < 10'000);
}

TEST_CASE("by data: short operations stay on one stream, and leave it when one takes long",
          "[by_data]") {
    if (test_device().is_cuda()) HEDDLE_SKIP("nobody sees in passing how far a GPU has come");
    if (HEDDLE_TEST_SANITIZED) HEDDLE_SKIP("no operation is short under a sanitizer");
    const Here here;
    std::vector<Array<int>> x;
    for (int i = 0; i < 5; ++i) x.push_back(zeros<int>(test_device(), 1));
    synchronize_device(test_device());
    order_by_data order(test_device(), {.streams = 2});
    std::vector<StreamRef> streams;
    const auto enqueue = [&](Array<int>& to, const auto& function) {
        order.task({writes(to)}, [&](StreamRef s) {
            streams.push_back(s);
            function(s);
        });
    };
    const auto add = [&](Array<int>& to) {
        enqueue(to, [&](StreamRef s) { launch(s, Add{}, dim(1), to, 1); });
    };
    // Independent ones, which are spread until they are known to be short.
    CHECK(eventually([&] {
        streams.clear();
        for (std::size_t i = 0; i < 200; ++i) add(x[i % 4]);
        return std::ranges::adjacent_find(streams.end() - 40, streams.end(), is_other) ==
               streams.end();
    }));
    const Drained drained;
    Gate gate;
    enqueue(x[0], [&](StreamRef s) { gate.hold(s); });
    for (int i = 0; i < 60; ++i) add(x[0]);
    add(x[4]);
    CHECK(to_host(order, x[4]) == Ints{1});  // not behind the gate
    CHECK(streams.back() != streams[streams.size() - 2]);
}
