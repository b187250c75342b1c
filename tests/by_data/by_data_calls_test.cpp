// Ordering by data: every call, temporaries, the end of the scope, and misuse.
#include "kernels.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <numeric>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 64;

Ints constant(int value) { return Ints(n, value); }
Ints counted() {
    Ints all(n);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// A kernel that holds arrays, and declares them.
struct AddHeld {
    View<const int> x;
    View<int> y;
    auto views() const { return std::tuple(x, y); }
    HEDDLE_FN void operator()(std::size_t i) const { y[i] += x[i]; }
};

/// A kernel that holds addresses only.
struct AddAtAddresses {
    const int* x;
    int* y;
    std::size_t count;
    HEDDLE_FN void operator()(std::size_t i) const {
        if (i < count) y[i] += x[i];
    }
    HEDDLE_FN void operator()(std::size_t i, View<const int>) const { (*this)(i); }
};

/// z += x, by a lambda that captures both views. nvcc needs the lambda in a separate function.
void launch_held(DataOrder& order, const Array<int>& x, Array<int>& z) {
    const View<const int> from = x.view();
    const View<int> to = z.view();
    launch(order, [from, to] HEDDLE_FN(std::size_t i) { to[i] += from[i]; }, dim(n));
}

StreamRef hold(DataOrder& order, const Gate& gate, DeclaredAccess access) {
    StreamRef held;
    order.task({access}, [&](StreamRef s) {
        gate.hold(s);
        held = s;
    });
    return held;
}

}  // namespace

TEST_CASE("by data: launches, copies, fills and host functions come to what one stream makes",
          "[by_data]") {
    const Here here;
    DataOrder order(test_device());
    Array<int> x = from_host(order, counted());
    Array<int> y = full<int>(order, n, 1), z = zeros<int>(order, n);
    auto there = pinned<int>(n);
    launch(order, AddTo{}, dim(n), x, y);
    copy(order, z, y);
    copy(order, there, z);
    launch_host(order, [v = there.view()] {
        for (int& value : v) value *= 2;
    });
    copy(order, x, there);
    fill(order, y.first(n / 2), 7);
    fill_zero(order, z);
    const Array<int> w = clone(order, x);
    Ints expected(n);
    for (std::size_t i = 0; i < n; ++i) expected[i] = 2 * (static_cast<int>(i) + 1);
    CHECK(to_host(order, x) == expected);
    CHECK(to_host(order, w) == expected);
    CHECK(to_host(order, y)[0] == 7);
    CHECK(to_host(order, y)[n - 1] == static_cast<int>(n));
    CHECK(to_host(order, z) == constant(0));
    CHECK(to_host(order, from_host(order, {true, false, true})) ==
          std::vector<bool>{true, false, true});
}

TEST_CASE("by data: rectangles are copied and filled in order", "[by_data]") {
    const Here here;
    DataOrder order(test_device());
    Array<int> x = from_host(order, counted()), y = zeros<int>(order, n);
    const View2D<int> left(x.view(), 8, 4, 8), right(y.view(), 8, 4, 8);
    copy_2d(order, right, left);
    fill(order, View2D<int>(y.view(), 8, 2, 8), 5);
    fill_zero(order, View2D<int>(y.view(), 1, 1, 8));
    const Ints back = to_host(order, y);
    CHECK(Ints(back.begin(), back.begin() + 10) == Ints{0, 5, 2, 3, 0, 0, 0, 0, 5, 5});
}

TEST_CASE("by data: a prepared launch is ordered by what it was prepared with", "[by_data]") {
    const Here here;
    DataOrder order(test_device());
    Array<int> x = full<int>(order, n, 2), y = zeros<int>(order, n);
    auto add = prepare(AddTo{}, dim(n), x, y);
    DrainedGate gate;
    hold(order, gate, writes(x));
    launch(order, Add{}, dim(n), x, 1);
    launch(order, add);
    launch(order, Set{}, dim(n), x, 50);
    launch(order, add);
    gate.open();
    CHECK(to_host(order, y) == constant(53));
}

TEST_CASE("by data: views that a kernel captures or names count", "[by_data]") {
    const Here here;
    DataOrder order(test_device(), {.streams = 2});
    Array<int> x = full<int>(order, n, 2), y = zeros<int>(order, n), z = zeros<int>(order, n);
    DrainedGate gate;
    hold(order, gate, writes(x));
    launch(order, Set{}, dim(n), x, 3);
    launch(order, Set{}, dim(n), z, 1);
    launch(order, AddHeld{x.view(), y.view()}, dim(n));
    launch_held(order, x, z);
    launch(order, Set{}, dim(n), x, 70);
    gate.open();
    CHECK(to_host(order, y) == constant(3));
    CHECK(to_host(order, z) == constant(4));
}

TEST_CASE("by data: an address within an array that a kernel holds counts as its array",
          "[by_data]") {
    const Here here;
    Array<int> x = zeros<int>(n), y = zeros<int>(n), z = zeros<int>(n);
    const OrderLog seen;
    DrainedGate gate;
    DataOrder order(test_device(), {.streams = 2});
    const StreamRef held = hold(order, gate, writes(x));
    launch(order, Set{}, dim(n), x, 3);
    order.task({writes(y), writes(z)}, [&](StreamRef s) { CHECK(s != held); });
    launch(order, AddAtAddresses{x.data() + 1, y.data(), n - 1}, dim(n), View<const int>(z));
    launch_host(order, [seen] { seen.add("y"); }, reads(y));
    finish_work(test_device());
    CHECK(seen.seen().empty());
    gate.open();
    CHECK(to_host(order, y)[0] == 3);
}

TEST_CASE("by data: a view by address counts as its array, and other memory as one array",
          "[by_data]") {
    const Here here;
    if (test_device().is_cuda()) HEDDLE_SKIP("a GPU does not reach memory of the process");
    DataOrder order(test_device(), {.streams = 2});
    Array<int> x = full<int>(order, n, 2);
    Ints mine(n), other(n);
    DrainedGate gate;
    hold(order, gate, writes(x));
    launch(order, Set{}, dim(n), View<int>(x.data(), n), 3);
    launch(order, CopyKernel{}, dim(n), x, View<int>(mine));
    launch(order, CopyKernel{}, dim(n), View<const int>(mine), View<int>(other));
    gate.open();
    CHECK(to_host(order, View<const int>(other)) == constant(3));
}

TEST_CASE("by data: temporaries end while the work on them is pending", "[by_data]") {
    const Here here;
    DataOrder order(test_device());
    Array<int> sum = zeros<int>(order, n);
    DrainedGate gate;
    hold(order, gate, writes(sum));
    for (int i = 0; i < 50; ++i) {
        Array<int> once = full<int>(order, n, i);
        Array<int> twice = clone(order, once);
        launch(order, AddTo{}, dim(n), once, twice);
        launch(order, AddTo{}, dim(n), twice, sum);
    }
    gate.open();
    CHECK(to_host(order, sum) == constant(49 * 50));
}

TEST_CASE("by data: an array in the place of an older one begins without a past", "[by_data]") {
    const Here here;
    DataOrder order(test_device(), {.streams = 2});
    auto z = pinned<int>(n), x = pinned<int>(n);
    const auto work = [](StreamRef) {};
    order.task({writes(x)}, work);
    order.task({writes(z)}, work);
    const detail::Block* const block = detail::Access::block(x);
    x.reset();
    std::vector<Array<int>> others;  // repeated until an array reuses the old array's record
    do others.push_back(pinned<int>(n));
    while (detail::Access::block(others.back()) != block && others.size() < 10'000);
    REQUIRE(detail::Access::block(others.back()) == block);
    const DataOrderStats before = order.stats();
    order.task({writes(z), writes(others.back())}, work);
    CHECK(order.stats().waits_inserted == before.waits_inserted);
    CHECK(order.stats().waits_elided == before.waits_elided);
}

TEST_CASE("by data: an empty launch, copy or view orders nothing", "[by_data]") {
    const Here here;
    DataOrder order(test_device());
    Array<int> x = zeros<int>(order, n);
    launch(order, Set{}, dim(std::size_t{0}), x, 1);
    launch(order, Set{}, dim(n), x, 2);
    copy(order, View<int>(), View<const int>());
    fill(order, x.first(0), 3);
    CHECK(to_host(order, x) == constant(2));
    CHECK(to_host(order, x.first(0)).empty());
}

TEST_CASE("by data: it comes after the current stream, which comes after it when its scope ends",
          "[by_data]") {
    const OrderLog seen;
    DrainedGate gate;
    const Here here;
    gate.hold(current_stream());
    seen.note(current_stream(), "before");
    {
        DataOrder order(test_device(), {.streams = 3});
        for (int i = 0; i < 3; ++i) order.task({}, [&](StreamRef s) { seen.note(s, "inside"); });
    }
    seen.note(current_stream(), "after");
    check_held(seen, gate, current_stream(), {"before", "inside", "inside", "inside", "after"});
}

TEST_CASE("by data: it is joined when it ends by an exception", "[by_data]") {
    const OrderLog seen;
    DrainedGate gate;
    const Here here;
    try {
        DataOrder order(test_device(), {.streams = 2});
        order.task({}, [&](StreamRef s) {
            gate.hold(s);
            seen.note(s, "inside");
        });
        throw Boom("scope");
    } catch (const Boom&) {
        seen.note(current_stream(), "after");
    }
    check_held(seen, gate, current_stream(), {"inside", "after"});
}

TEST_CASE("by data: join() orders the current stream after all work enqueued so far", "[by_data]") {
    const OrderLog seen;
    DrainedGate gate;
    const Here here;
    DataOrder order(test_device(), {.streams = 2});
    order.task({}, [&](StreamRef s) {
        gate.hold(s);
        seen.note(s, "inside");
    });
    order.join();
    seen.note(current_stream(), "after");
    check_held(seen, gate, current_stream(), {"inside", "after"});
}

TEST_CASE("by data: the end of the scope brings a failure to the current stream", "[by_data]") {
    const Here here;
    Array<int> x = zeros<int>(n);
    const Reports reports;
    {
        DataOrder order(test_device());
        launch_host(order, [] { throw Boom("inside"); }, writes(x));
    }
    CHECK(mentions(error_of([] { current_stream().synchronize(); }), "inside"));
    CHECK(reports.count() == 0);
    CHECK(here.stream.clear_error() != nullptr);
}

TEST_CASE("by data: streams that are not its own get no work", "[by_data]") {
    const Here here;
    Array<int> x = zeros<int>(n);
    const Stream other(test_device());
    DataOrder order(test_device());
    launch(order, Set{}, dim(n), x, 1);
    const auto submissions_of_other = [&] {
        return detail::Access::state(other).submissions.load();
    };
    const std::uint64_t before = submissions_of_other();
    order.join();
    launch(order, Set{}, dim(n), x, 2);
    CHECK(submissions_of_other() == before);
    order.synchronize();
    launch(other, Set{}, dim(n), x, 3);
    CHECK(submissions_of_other() == before + 1);  // there was no wait
    CHECK(to_host(order, x) == constant(3));
}

TEST_CASE("by data: it is used by one thread, and a host function: make one or in its own tasks",
          "[by_data]") {
    const Here here;
    Array<int> x = zeros<int>(n);
    const Drained drained;
    DataOrder order(test_device());
    std::optional<Error> error;
    std::thread([&] { error = error_of([&] { launch(order, Set{}, dim(n), x, 1); }); }).join();
    CHECK(mentions(error, "construct one for each thread"));
    Flag done;
    std::optional<Error> of_function;
    launch_host(
        order,
        [&, done] {
            of_function = error_of([&] { fill(order, x, 1); });
            done.set();
        },
        writes(x));
    CHECK(done.wait());
    CHECK(mentions(of_function, "in a host function: construct one"));
    order.task({writes(x)},
               [&](StreamRef) { error = error_of([&] { launch(order, Set{}, dim(n), x, 1); }); });
    CHECK(mentions(error, "must not use the DataOrder"));
    CHECK(to_host(order, x) == constant(0));
}

TEST_CASE("by data: a host function cannot make an order", "[by_data]") {
    const Here here;
    std::optional<Error> error;
    launch_host(here.stream,
                [&] { error = error_of([] { const DataOrder order(test_device()); }); });
    here.stream.synchronize();
    CHECK(mentions(error, "a DataOrder cannot be constructed in a host function"));
    CHECK(mentions(error, "construct it on the thread that enqueues the work"));
}

TEST_CASE("by data: numbers of streams that cannot be are refused", "[by_data]") {
    CHECK(mentions(error_of([] { const DataOrder order(test_device(), {.streams = -1}); }),
                   "the number of streams is -1"));
    CHECK(mentions(error_of([] { const DataOrder order(test_device(), {.streams = 33}); }),
                   "the number of streams is 33"));
}

TEST_CASE("by data: a negative size is refused, with the number and the call", "[by_data]") {
    DataOrder order(test_device());
    const auto minus = static_cast<std::size_t>(-7);
    const auto refused = [](const std::string& call, const auto& function) {
        const Error error = thrown_by(function);
        CHECK(error.code() == ErrorCode::usage);
        CHECK(error.call() == call);
        CHECK_THAT(error.what(), contains("a size is -7"));
    };
    refused("empty", [&] { (void)empty<int>(order, minus); });
    refused("zeros", [&] { (void)zeros<int>(order, minus); });
    refused("full", [&] { (void)full<int>(order, minus, 1); });
}

TEST_CASE("by data: functions that hide all that they use are refused", "[by_data]") {
    const Here here;
    Array<int> x = zeros<int>(n);
    const Drained drained;
    DataOrder order(test_device());
    int a = 0, b = 0, c = 0;
    CHECK(mentions(error_of([&] { launch_host(order, [&a, &b, &c] { a = b = c = 1; }); }),
                   "no view or declaration"));
    if (test_device().is_cpu())
        CHECK(mentions(error_of([&] { launch(order, AddAtAddresses{&a, &b, 1}, dim(n)); }),
                       "no view or declaration"));
    CHECK(a == 0);
    order.task({}, [&](StreamRef s) { launch_host(s, [&a, &b, &c] { a = b = c = 1; }); });
    order.synchronize();
    CHECK(a == 1);
}

TEST_CASE("by data: a view that outlived its array is refused, and leaves the order usable",
          "[by_data]") {
    const Here here;
    DataOrder order(test_device());
    View<int> gone;
    {
        Array<int> x = zeros<int>(order, n);
        gone = x.view();
    }
    CHECK(mentions(error_of([&] { launch(order, Set{}, dim(n), gone, 1); }), "outlived"));
    CHECK(mentions(error_of([&] { launch_host(order, [] {}, reads(gone)); }), "outlived"));
    CHECK(mentions(error_of([&] { (void)to_host(order, gone); }), "outlived"));
    CHECK(mentions(error_of([&] { order.task({reads(gone)}, [](StreamRef) {}); }), "outlived"));
    Array<int> y = zeros<int>(order, n);
    launch(order, Set{}, dim(n), y, 1);
    CHECK(to_host(order, y) == constant(1));
}
