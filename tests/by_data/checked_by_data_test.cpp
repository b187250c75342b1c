// The ordering checker and a DataOrder, beside streams outside the order that have ended.
#include "check/checked.hpp"
#include "check/first_race.hpp"
#include "check/trace.hpp"
#include "check/trace_oracle.hpp"
#include "check/unseen.hpp"
#include "core/stream/registry.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <algorithm>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 64;

/// Arrays, and streams that use them in turn and then end. The checker does not observe the
/// ends.
struct Arrays {
    Arrays() { current_stream(test_device()).synchronize(); }
    void write_outside() {
        use_outside([&](StreamRef outside) { fill(outside, x, 3); });
    }
    void read_outside() {
        use_outside([&](StreamRef outside) { launch(outside, AddTo{}, dim(n), x, sum); });
    }

    const Here here;
    Array<int> x = zeros<int>(test_device(), n), sum = zeros<int>(test_device(), n);
    Array<int> y = zeros<int>(test_device(), n), z = zeros<int>(test_device(), n);

private:
    template <class F> void use_outside(F&& f) {
        std::uint64_t key = 0;
        {
            Stream outside{test_device()};
            key = detail::Access::state(outside).key.load();
            outside.wait_stream(here.stream);
            outside.wait_stream(between_);
            f(outside);
            between_.wait_stream(outside);
            wait_unseen(outside);
        }
        if (test_device().is_cpu()) CHECK(eventually([&] { return detail::has_ended(key); }));
    }

    Stream between_{test_device()};  // uses no array
};

constexpr DataOrderOptions two_streams{
    .streams = 2, .waits = DataWaits::exact, .spread = DataSpread::always};

}  // namespace

TEST_CASE("by data: the checker knows that the host comes after streams that have ended",
          "[by_data]") {
    Arrays a;
    Checked checked;
    DataOrder order(test_device(), two_streams);
    a.write_outside();
    SECTION("to_host()") { CHECK(to_host(order, a.x) == Ints(n, 3)); }
    SECTION("on_host()") {
        if (test_device().is_cuda()) HEDDLE_SKIP("the host cannot write the elements");
        for (int& value : on_host(order, a.x)) value += 1;
    }
    SECTION("copy() to pageable memory") {
        auto to = pageable<int>(n);
        copy(order, to, a.x);
    }
    checked.expect_silence();
}

TEST_CASE("by data: the checker knows that each stream comes after streams that have ended",
          "[by_data]") {
    Arrays a;
    Checked checked;
    DataOrder order(test_device(), two_streams);
    a.write_outside();
    const bool is_reused = GENERATE(false, true);
    if (is_reused) const Stream another{test_device()};  // takes the ended stream's slot
    launch(order, AddTo{}, dim(n), a.x, a.y);
    launch(order, AddTo{}, dim(n), a.x, a.z);  // a.x now lists the reader instead of the writer
    CHECK(to_host(order, a.y) == Ints(n, 3));
    CHECK(to_host(order, a.z) == Ints(n, 3));
    checked.expect_silence();
}

TEST_CASE("by data: the checker knows that it comes after all that used an array in turn outside",
          "[by_data]") {
    Arrays a;
    Checked checked;
    DataOrder order(test_device(), two_streams);
    launch(order, AddTo{}, dim(n), a.x, a.y);
    launch(order, AddTo{}, dim(n), a.x, a.z);
    order.join();
    a.read_outside();
    a.write_outside();  // the writer's stream takes the slot of the reader's stream
    launch(order, AddTo{}, dim(n), a.x, a.y);
    launch(order, AddTo{}, dim(n), a.x, a.z);
    order.join();
    a.read_outside();
    fill(order, a.x, 4);
    launch(order, AddTo{}, dim(n), a.x, a.z);
    CHECK(to_host(order, a.y) == Ints(n, 3));
    CHECK(to_host(order, a.z) == Ints(n, 7));
    CHECK(to_host(order, a.sum) == Ints(n, 3));
    checked.expect_silence();
}

TEST_CASE("by data: a wait between its own streams that is left out is found beside outside users",
          "[by_data]") {
    Arrays a;
    Trace trace(1'000);
    {
        DataOrder order(test_device(), two_streams);
        a.write_outside();
        launch(order, AddTo{}, dim(n), a.y, a.x);
        launch(order, AddTo{}, dim(n), a.y, a.z);
        launch(order, AddTo{}, dim(n), a.x, a.z);
    }
    current_stream(test_device()).synchronize();
    const Ops ops = trace.take();
    REQUIRE(first_race_by_checker(ops) == ops.size());
    std::size_t needed = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind != OpKind::wait || ops[i].reason != WaitReason::data) continue;
        Ops without = ops;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(first_race_by_checker(without) == first_race_by_oracle(without));
        needed += first_race_by_checker(without) != without.size();
    }
    CHECK(needed > 0);
}

TEST_CASE("by data: streams that have not come after others are the order's own, too",
          "[by_data]") {
    Arrays a;
    Trace trace(1'000);
    {
        DataOrder order(test_device(), two_streams);
        std::uint64_t key = 0;
        {
            const Stream outside{test_device()};
            key = detail::Access::state(outside).key.load();
            outside.wait_stream(a.here.stream);
            launch(outside, AddTo{}, dim(n), a.x, a.sum);
            launch(order, AddTo{}, dim(n), a.y, a.z);
            launch(order, AddTo{}, dim(n), a.y, a.x);  // on the other stream, which is open
            wait_unseen(outside);
        }
        if (test_device().is_cpu()) CHECK(eventually([&] { return detail::has_ended(key); }));
        launch(order, AddTo{}, dim(n), a.z, a.x);  // ordered after the ended stream
    }
    current_stream(test_device()).synchronize();
    const Ops ops = trace.take();
    REQUIRE(first_race_by_checker(ops) == ops.size());
    std::size_t needed = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind != OpKind::wait || ops[i].event.event == 0) continue;
        Ops without = ops;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        needed += first_race_by_checker(without) != without.size();
    }
    CHECK(needed == 1);
}

TEST_CASE("by data: the checker knows that waits were left out for which there was no work",
          "[by_data]") {
    Arrays a;
    Checked checked;
    fill(a.here.stream, a.x, 3);
    wait_unseen(a.here.stream);
    DataOrder order(test_device(), two_streams);  // no waits: all earlier work is complete
    const Stream side{test_device()};
    order.task({}, [&](StreamRef stream) { side.wait_stream(stream); });  // needs no wait, either
    launch(side, AddTo{}, dim(n), a.x, a.y);
    side.synchronize();
    checked.expect_silence();
}

TEST_CASE("by data: a wait says which stream it is for, once that has been destroyed, too",
          "[by_data]") {
    Arrays a;
    DrainedGate gate;
    Trace trace(1'000);
    std::uint64_t id = 0;
    {
        const Stream outside{test_device()};
        id = outside.id();
        gate.hold(outside);
        fill(outside, a.x, 3);
    }
    {
        DataOrder order(test_device(), two_streams);
        launch(order, AddTo{}, dim(n), a.x, a.y);
        gate.open();
        CHECK(to_host(order, a.y) == Ints(n, 3));
    }
    const Ops ops = trace.take();
    CHECK(std::ranges::any_of(
        ops, [&](const detail::CheckOp& op) { return op.kind == OpKind::wait && op.other == id; }));
}
