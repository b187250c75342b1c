// Ordering by data: conflicting operations are ordered, others overlap. Other work does not wait.
#include "kernels.hpp"
#include "noted.hpp"

#include <algorithm>
#include <numeric>

using namespace heddle_test;
using namespace heddle_test::by_data;

TEST_CASE("by data: a read comes after the write, and what is independent does not wait",
          "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        Array<int> x = array(), y = array(), z = array();
        DrainedGate gate;
        Noted on(3, waits);
        on.hold(gate, writes(x));
        on.note("write", writes(x));
        on.note("other", writes(z));
        on.note("read", writes(z), reads(x));
        on.note("free", writes(y));
        CHECK(on.sees_only({"other", "free"}));
        gate.open();
        on.order.synchronize();
        CHECK(on.is_before("write", "read"));
    }
}

TEST_CASE("by data: a write comes after the reads before it, on all streams", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        Array<int> x = array(), y = array(), z = array();
        DrainedGate gate;
        Noted on(3, waits);
        on.hold(gate, writes(y), reads(x));
        on.note("read", writes(y), reads(x));
        on.note("read beside", writes(z), reads(x));
        on.note("write", writes(z), writes(x));
        CHECK(on.sees_only({"read beside"}));
        gate.open();
        on.order.synchronize();
        CHECK(on.is_before("read", "write"));
    }
}

TEST_CASE("by data: a write comes after the write before it", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        Array<int> x = array(), z = array();
        DrainedGate gate;
        Noted on(2, waits);
        on.hold(gate, writes(x));
        on.note("first", writes(x));
        on.note("other", writes(z));
        on.note("second", writes(z), writes(x));
        CHECK(on.sees_only({"other"}));
        gate.open();
        on.order.synchronize();
        CHECK(on.is_before("first", "second"));
    }
}

TEST_CASE("by data: reads of one array run side by side", "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array(), z = array();
    DrainedGate gate;
    Noted on(2, DataWaits::exact);  // with `newest`, the wait would include the gate
    on.note("write", writes(x));
    on.note("other", writes(z));
    on.hold(gate, reads(x), writes(y));
    on.note("read", writes(z), reads(x));
    CHECK(on.sees_only({"write", "other", "read"}));
    CHECK(on.is_before("write", "read"));
}

TEST_CASE("by data: a chain stays on its stream, without records and waits", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        // It makes no difference whether the calls count as short ones.
        DataOrder order(test_device(), {.streams = 4, .waits = waits});
        Array<int> x = zeros<int>(order, n), y = zeros<int>(order, n);
        for (int i = 0; i < 100; ++i) {
            launch(order, Add{}, dim(n), x, 1);
            launch(order, Add{}, dim(n), x, 2);
        }
        CHECK(order.stats().waits_inserted == 0);
        CHECK(order.stats().records <= 1);  // no operation follows zeros(y)
        CHECK(to_host(order, x) == constant(300));
        CHECK(to_host(order, y) == constant(0));
    }
}

TEST_CASE("by data: independent work is spread over the streams", "[by_data]") {
    const Here here;
    std::vector<Array<int>> x;
    for (int i = 0; i < 4; ++i) x.push_back(array());
    DataOrder order(test_device(), {.streams = 4});
    std::vector<std::uint64_t> ids;
    for (Array<int>& one : x)
        order.task({writes(one)}, [&](StreamRef s) { ids.push_back(s.id()); });
    std::ranges::sort(ids);
    CHECK(std::ranges::adjacent_find(ids) == ids.end());
}

TEST_CASE("by data: one stream records nothing and waits for nothing", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        DataOrder order(test_device(), {.streams = 1, .waits = waits});
        std::vector<Array<int>> x;
        for (int i = 0; i < 4; ++i) x.push_back(zeros<int>(order, n));
        for (std::size_t i = 0; i < 40; ++i)
            launch(order, AddTo{}, dim(n), x[i % 4], x[(i + 1 + i / 4 % 3) % 4]);
        CHECK(order.stats().waits_inserted == 0);
        // On a GPU, the streams for copies may have to wait for the fill.
        if (test_device().is_cpu()) CHECK(order.stats().records == 0);
        CHECK(order.stats().operations == 44);
    }
}

TEST_CASE("by data: an order by way of a third stream is not waited for again", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        const Drained drained;
        Gate gate;  // so that no work has completed at the query
        Noted on(3, waits);
        Array<int> p = empty<int>(on.order, n), q = empty<int>(on.order, n),
                   r = empty<int>(on.order, n);
        on.hold(gate, writes(p));
        on.note("p", writes(p));
        on.note("q", writes(q));
        on.note("r", writes(r));
        const DataOrderStats before = on.order.stats();
        CHECK(before.waits_inserted == 0);
        on.note("q after p", writes(q), reads(p));
        on.note("r after q", writes(r), reads(q));
        CHECK(on.order.stats().waits_inserted == 2);
        on.note("r after p", writes(r), reads(p));
        CHECK(on.order.stats().waits_inserted == 2);
        CHECK(on.order.stats().waits_elided == before.waits_elided + 1);
    }
}

TEST_CASE("by data: work outside on the same array is waited for, each time again", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        Array<int> x = array();
        const Stream outside(test_device());
        const Drained drained;
        Noted on(2, waits);
        for (int round = 0; round < 3; ++round) {
            Gate gate(outside);
            launch_host(outside, [seen = on.seen] { seen.add("outside"); }, writes(x));
            if (round == 1) on.note("inside", reads(x));
            else on.note("inside", writes(x));
            finish_work(test_device());
            CHECK(on.seen.seen().size() == static_cast<std::size_t>(2 * round));
            gate.open();
            on.order.synchronize();
            outside.synchronize();
            CHECK(on.seen.seen().back() == "inside");
        }
    }
}

TEST_CASE("by data: each stream waits for work outside, not only the first one that asks",
          "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array(), z = array();
    const Stream outside(test_device());
    DrainedGate gate;
    Noted on;
    on.note("y", writes(y));
    on.note("z", writes(z));
    on.order.synchronize();
    gate.hold(outside);
    launch_host(outside, [seen = on.seen] { seen.add("outside"); }, writes(x));
    on.note("one", writes(y), reads(x));
    on.note("two", writes(z), reads(x));
    finish_work(test_device());
    CHECK(on.seen.seen().size() == 2);
    gate.open();
    on.order.synchronize();
    CHECK(on.is_before("outside", "one"));
    CHECK(on.is_before("outside", "two"));
}

TEST_CASE("by data: many streams that use an array outside are all waited for", "[by_data]") {
    const Here here;
    Array<int> x = array();
    std::vector<Stream> outside;
    const Drained drained;
    Noted on;
    for (int round = 0; round < 2; ++round) {
        Gate gate;
        for (int i = 0; i < 8; ++i) {
            if (round == 0) outside.emplace_back(test_device());
            gate.hold(outside[static_cast<std::size_t>(i)]);
            launch_host(
                outside[static_cast<std::size_t>(i)], [seen = on.seen] { seen.add("outside"); },
                reads(x));
        }
        on.note("inside", writes(x));
        finish_work(test_device());
        CHECK(on.seen.seen().size() == static_cast<std::size_t>(9 * round));
        gate.open();
        on.order.synchronize();
        CHECK(on.seen.seen().back() == "inside");
    }
}

TEST_CASE("by data: what a batch outside has recorded on the array is waited for", "[by_data]") {
    const Here here;
    Array<int> x = array();
    Batch batch;
    {
        Noted on;
        const Stream outside(test_device());
        {
            const ScopedBatch in(batch, outside);
            launch(outside, Set{}, dim(n), x, 7);
            launch(on.order, Add{}, dim(n), x, 1);
        }
        CHECK(to_host(on.order, x) == constant(8));
    }
}

TEST_CASE("by data: an operation that was dropped counts as the writer that it should have been",
          "[by_data]") {
    for (const DataWaits waits : all_waits) {
        Array<int> x = array(), y = array(), z = array();
        {
            const Drained drained;
            Noted on(2, waits);
            StreamRef failing;
            on.order.task({writes(x)}, [&](StreamRef s) { failing = s; });
            on.note("z", writes(z));
            launch_host(on.order, [] { throw Boom("x"); }, writes(x));
            CHECK(eventually([&] { return failing.is_poisoned(); }));
            on.note("y", reads(x), writes(y));     // this task is dropped
            on.note("read", writes(z), reads(y));  // on the stream without a failure
            CHECK(error_of([&] { (void)to_host(on.order, z); }));
            CHECK(on.seen.seen() == Strings{"z"});
        }
        CHECK(current_stream(test_device()).clear_error() != nullptr);
    }
}

TEST_CASE("by data: a failure reaches all that would use what it should have written",
          "[by_data]") {
    for (const DataWaits waits : all_waits) {
        Array<int> x = array(), y = array(), z = array();
        {
            DrainedGate gate;
            Noted on(2, waits);
            on.note("z", writes(z));
            on.note("y", writes(y));
            on.hold(gate, writes(y));
            launch_host(on.order, [] { throw Boom("y"); }, writes(y));
            on.note("x", writes(z), reads(y));  // enqueued before the failure
            gate.open();
            CHECK(mentions(error_of([&] { on.order.synchronize(); }), "y"));
            CHECK(error_of([&] { (void)to_host(on.order, z); }));
            CHECK_FALSE(on.seen.has("x"));
        }
        CHECK(current_stream(test_device()).clear_error() != nullptr);
    }
}

TEST_CASE("by data: a stream that was cleared by itself waits again for one that has failed",
          "[by_data]") {
    for (const DataWaits waits : all_waits) {
        Array<int> x = array(), z = array();
        {
            const Drained drained;
            Noted on(2, waits);
            on.note("z", writes(z));
            launch_host(on.order, [] { throw Boom("x"); }, writes(x));
            on.note("first", writes(z), reads(x));
            on.order.task({writes(z)}, [](StreamRef s) { CHECK(s.clear_error() != nullptr); });
            on.note("second", writes(z), reads(x));
            CHECK(error_of([&] { (void)to_host(on.order, z); }));
            CHECK(on.seen.seen() == Strings{"z"});
        }
        CHECK(current_stream(test_device()).clear_error() != nullptr);
    }
}

TEST_CASE("by data: after clear_error() it goes on", "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array();
    Noted on;
    launch_host(on.order, [] { throw Boom("x"); }, writes(x));
    on.note("y", writes(y), reads(x));
    CHECK(on.order.clear_error() != nullptr);
    CHECK(on.order.clear_error() == nullptr);
    launch(on.order, Set{}, dim(n), x, 3);
    launch(on.order, CopyKernel{}, dim(n), x, y);
    CHECK(to_host(on.order, y) == constant(3));
}

TEST_CASE("by data: after clear_error() no point behind the failed work brings it again",
          "[by_data]") {
    const DataWaits waits = GENERATE(DataWaits::newest, DataWaits::exact, DataWaits::automatic);
    const bool reads_on_host = GENERATE(true, false);
    CAPTURE(static_cast<int>(waits), reads_on_host);
    Array<int> x = array(), y = array(), z = array();
    Noted on(2, waits);
    constexpr int rounds = 8;  // after a conflict between streams, `automatic` records events
    for (int i = 0; i < rounds; ++i) {
        launch_host(
            on.order,
            [is_last = i + 1 == rounds] {
                if (is_last) throw Boom("once");
            },
            writes(x));
        launch(on.order, CopyKernel{}, dim(n), x, y);  // its wait covers the failed work
        launch(on.order, CopyKernel{}, dim(n), x, z);
    }
    CHECK(on.order.clear_error() != nullptr);
    if (reads_on_host) {
        CHECK(to_host(on.order, x) == constant(0));
        CHECK(to_host(on.order, y) == constant(0));
        CHECK(to_host(on.order, z) == constant(0));
        return;
    }
    fill(on.order, x, 5);
    launch(on.order, CopyKernel{}, dim(n), x, y);
    launch(on.order, CopyKernel{}, dim(n), x, z);
    CHECK_NOTHROW(on.order.synchronize());
    CHECK(to_host(on.order, y) == constant(5));
    CHECK(to_host(on.order, z) == constant(5));
}

TEST_CASE("by data: clear_error() does not clear what failed outside", "[by_data]") {
    Array<int> x = array();
    Stream outside(test_device());
    launch_host(outside, [] { throw Boom("outside"); }, writes(x));
    Noted on;
    CHECK(error_of([&] { (void)to_host(on.order, x); }));
    launch_host(on.order, [] {}, reads(x));
    CHECK(on.order.clear_error() != nullptr);
    CHECK(cause_of(thrown_by([&] { (void)to_host(on.order, x); })) == "outside");
    launch_host(on.order, [] {}, reads(x));
    CHECK(error_of([&] { on.order.synchronize(); }));
    CHECK(outside.clear_error() != nullptr);
    CHECK(on.order.clear_error() != nullptr);
    CHECK(to_host(on.order, x) == constant(0));
}

TEST_CASE("by data: to_host() and on_host() wait for the writer, and for nothing else",
          "[by_data]") {
    for (const DataWaits waits : all_waits) {
        if (test_device().is_cuda() && waits == DataWaits::newest) continue;  // not promised there
        const Here here;
        Array<int> x = array(), y = array(), z = array();
        auto there = pinned<int>(n);
        DrainedGate gate;
        Noted on(2, waits);
        launch(on.order, Set{}, dim(n), x, 5);
        copy(on.order, there, x);
        on.hold(gate, writes(y));
        on.hold(gate, writes(z));
        on.note("y", writes(y));
        on.note("z", writes(z), reads(x));
        CHECK(to_host(on.order, x) == constant(5));
        CHECK(on_host(on.order, std::as_const(there))[0] == 5);
        CHECK(on.seen.seen().empty());
        gate.open();
        (void)on_host(on.order, there);
        if (test_device().is_cpu()) {
            CHECK(on_host(on.order, x)[n - 1] == 5);  // a write must also follow the readers
            CHECK(on.seen.has("z"));
        }
    }
}

TEST_CASE("by data: to_host() waits for the writer, and on_host() for readers if it may write",
          "[by_data]") {
    const Here here;
    auto x = pinned<int>(n);
    DrainedGate gate;
    Noted on;
    on.hold(gate, writes(x));
    launch_host(on.order, [v = x.view()] { std::ranges::fill(v, 4); });
    launch_host(on.order, [seen = on.seen] { seen.add("read"); }, reads(x));
    std::thread opens([&] { gate.open(); });
    CHECK(to_host(on.order, x) == constant(4));
    CHECK(on_host(on.order, x)[0] == 4);
    CHECK(on.seen.has("read"));
    opens.join();
}

TEST_CASE("by data: the host waits for work outside on what it reads", "[by_data]") {
    const Here here;
    auto x = pinned<int>(n);
    const Stream outside(test_device());
    Noted on;
    Flag waits;
    launch_host(outside, [waits, v = x.view()] {
        waits.wait();
        std::ranges::fill(v, 9);
    });
    std::thread sets([&] { waits.set(); });
    CHECK(to_host(on.order, x) == constant(9));
    sets.join();
}

TEST_CASE("by data: pageable memory waits for what conflicts with the copy, and for nothing else",
          "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array();
    auto host = pageable<int>(n);
    std::iota(host.begin(), host.end(), 0);
    DrainedGate gate;
    Noted on;
    on.hold(gate, reads(host), writes(y));
    on.note("reads host", reads(host), writes(y));
    copy(on.order, x, host);  // the copy reads `host`
    CHECK(on.seen.seen().empty());
    CHECK(to_host(on.order, x)[5] == 5);
    std::thread opens([&] { gate.open(); });
    copy(on.order, host, x);  // the copy writes `host`
    CHECK(on.seen.has("reads host"));
    opens.join();
}

TEST_CASE("by data: nothing is locked while the host waits", "[by_data]") {
    const Here here;
    auto x = pinned<int>(n);
    DrainedGate gate;
    Noted on;
    on.hold(gate, writes(x));
    std::thread other([&] {  // opens the gate after using a DataOrder of its own
        const Here here_too;
        Array<int> y = array();
        {
            DataOrder mine(test_device());
            launch(mine, Set{}, dim(n), y, 1);
            CHECK(to_host(mine, y) == constant(1));
        }
        gate.open();
    });
    (void)to_host(on.order, x);
    other.join();
}

TEST_CASE("by data: two threads with an order each do not know of each other's later work",
          "[by_data]") {
    // If two orders use the same array, work enqueued later waits for work enqueued earlier, as if
    // two streams used the array.
    const Here here;
    Array<int> x = array();
    Noted on;
    launch(on.order, Set{}, dim(n), x, 1);
    std::thread([&] {
        const Here here_too;
        DataOrder mine(test_device());
        launch(mine, Add{}, dim(n), x, 1);
    }).join();
    launch(on.order, Multiply{}, dim(n), x, 5);
    CHECK(to_host(on.order, x) == constant(10));
}

TEST_CASE("by data: what a task enqueues is ordered by its declarations", "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array();
    DrainedGate gate;
    Noted on;
    on.hold(gate, writes(x));
    launch(on.order, Set{}, dim(n), x, 3);
    launch(on.order, Set{}, dim(n), y, 1);
    on.order.task({writes(y), reads(x)}, [&](StreamRef s) {
        CHECK(current_stream() == s);
        launch(AddTo{}, dim(n), x, y);
        launch(s, AddTo{}, dim(n), x, y);
    });
    launch(on.order, Set{}, dim(n), x, 100);
    gate.open();
    CHECK(to_host(on.order, y) == constant(7));
}

TEST_CASE("by data: what a task enqueued before it threw counts", "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array();
    DrainedGate gate;
    Noted on;
    CHECK_THROWS_AS(on.order.task({writes(x)},
                                  [&](StreamRef s) {
                                      gate.hold(s);
                                      launch(s, Set{}, dim(n), x, 2);
                                      throw Boom("task");
                                  }),
                    Boom);
    launch(on.order, CopyKernel{}, dim(n), x, y);
    gate.open();
    CHECK(to_host(on.order, y) == constant(2));
}

TEST_CASE("by data: a task without declarations is ordered after nothing", "[by_data]") {
    const Here here;
    Array<int> x = array();
    DrainedGate gate;
    Noted on;
    on.hold(gate, writes(x));
    on.order.task({}, [&](StreamRef s) { on.seen.note(s, "free"); });
    CHECK(on.sees_only({"free"}));
}
