// Batches: they keep the order of eager code, reuse graphs, and are flushed by some calls.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <thread>

using namespace heddle_test;

namespace {

/// Returns a batch that records on CPU devices, too.
Batch recorded() { return Batch({.on_cpu = true}); }

}  // namespace

TEST_CASE("a batch sends its work when it is left, and not before") {
    const Here here;
    const Drained drained;
    Flag ran;
    Batch step = recorded();
    {
        const ScopedBatch in(step);
        launch_host([ran] { ran.set(); });
        finish_work(test_device());
        CHECK_FALSE(ran.is_set());
    }
    here.stream.synchronize();
    CHECK(ran.is_set());
    CHECK(step.last().outcome == BatchOutcome::instantiated);
    CHECK(step.last().graphs == 1);
}

TEST_CASE("the body of a batch may take the stream") {
    const Here here;
    const Stream other(test_device());
    StreamRef first, second;
    Batch step = recorded();
    step.run([&](StreamRef stream) { first = stream; });
    step.run(other, [&](StreamRef stream) { second = stream; });
    CHECK(first == here.stream);
    CHECK(second == other);
}

TEST_CASE("on CPU devices a batch is not recorded, unless it is asked for") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step;
    step.run([&] { launch(Add{}, dim(10), x, 1); });
    CHECK((step.last().outcome == BatchOutcome::eager) == test_device().is_cpu());
    CHECK((step.last().operations == 0) == test_device().is_cpu());
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE(
    "the same work again is replayed, with other arguments updated, in another shape made anew") {
    const Here here;
    Array<int> x = zeros<int>(100);
    Batch step = recorded();
    const auto run = [&](int by, bool twice) {
        step.run([&] {
            launch(Add{}, dim(100), x, by);
            launch(Multiply{}, dim(100), x, 2);
            if (twice) launch(Multiply{}, dim(100), x, 2);
        });
        return step.last();
    };
    CHECK(run(1, false).outcome == BatchOutcome::instantiated);
    CHECK(run(1, false).outcome == BatchOutcome::replayed);
    const BatchResult changed = run(2, false);
    CHECK(changed.outcome == BatchOutcome::updated);
    CHECK(changed.changed == 1);
    CHECK(changed.operations == 2);
    CHECK(run(2, true).outcome == BatchOutcome::instantiated);
    CHECK(run(2, false).outcome == BatchOutcome::replayed);
    CHECK(run(3, true).outcome == BatchOutcome::updated);
    CHECK(step.remembered() == 2);
    int expected = 0;
    for (const auto& [by, times] : {std::pair{1, 2}, {1, 2}, {2, 2}, {2, 4}, {2, 2}, {3, 4}})
        expected = (expected + by) * times;
    CHECK(to_host(x) == Ints(100, expected));
}

TEST_CASE("arguments that change every time give what eager code gives") {
    const Here here;
    Array<int> x = zeros<int>(1000), y = zeros<int>(1000);
    Batch step = recorded();
    int expected_x = 0, expected_y = 0;
    for (int i = 0; i < 100; ++i) {
        const ScopedBatch in(step);
        launch(Add{}, dim(1000), x, i);
        fill(y, i);
        launch(AddTo{}, dim(1000), x, y);
        copy(x, y);
        expected_x += i;
        expected_y = i + expected_x;
        expected_x = expected_y;
    }
    CHECK(to_host(y) == Ints(1000, expected_y));
    CHECK(to_host(x) == Ints(1000, expected_x));
}

TEST_CASE("what alternates between two sets of arguments gets a graph for each") {
    const Here here;
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    Batch step = recorded();
    int replayed = 0;
    for (int i = 0; i < 20; ++i) {
        step.run([&] { launch(Add{}, dim(10), i % 2 == 0 ? x : y, 1); });
        replayed += step.last().outcome == BatchOutcome::replayed;
    }
    CHECK(replayed >= 16);
    CHECK(step.remembered() == 2);
    CHECK(to_host(x) == Ints(10, 10));
    CHECK(to_host(y) == Ints(10, 10));
}

TEST_CASE("a batch comes after its stream's earlier work, and before its next work") {
    const OrderLog seen;
    const Here here;
    DrainedGate gate(here.stream);
    seen.note(here.stream, "before");
    Batch step = recorded();
    step.run([&] {
        launch_host([&] { seen.add("first"); });
        launch_host([&] { seen.add("second"); });
    });
    seen.note(here.stream, "after");
    check_held(seen, gate, here.stream, {"before", "first", "second", "after"});
}

TEST_CASE("fork_join in a batch runs its branches side by side, every time with one graph") {
    const Here here;
    const Drained drained;
    Array<int> x = zeros<int>(64), y = zeros<int>(64);
    Batch step = recorded();
    for (int i = 0; i < 10; ++i) {
        step.run([&] {
            fork_join([&] { launch(Add{}, dim(64), x, 1); }, [&] { launch(Add{}, dim(64), y, 2); });
            launch(AddTo{}, dim(64), x, y);
        });
        CHECK(step.last().graphs == 1);
        if (i > 0) CHECK(step.last().outcome == BatchOutcome::replayed);
    }
    CHECK(to_host(x) == Ints(64, 10));
    CHECK(to_host(y) == Ints(64, 20 + 55));
}

TEST_CASE("streams that took part come after the batch with their later work") {
    const OrderLog seen;
    const Here here;
    DrainedGate gate;
    const Stream other(test_device());
    gate.hold(here.stream);
    Batch step = recorded();
    step.run([&] {
        launch_host([&] { seen.add("here"); });
        const ScopedStream in(other);
        launch_host([&] { seen.add("there"); });
    });
    CHECK(step.last().operations == 2);
    seen.note(other, "later");
    check_held(seen, gate, other, {"here", "there", "later"});
}

TEST_CASE("a stream with work of its own is not recorded: it does what it would have done") {
    const OrderLog seen;
    const Here here;
    DrainedGate gate;
    const Stream busy(test_device());
    gate.hold(busy);
    Batch step = recorded();
    step.run([&] {
        launch_host([&] { seen.add("first"); });
        busy.wait_stream(here.stream);
        seen.note(busy, "busy");
        launch_host([&] { seen.add("second"); });
    });
    here.stream.synchronize();  // the gate does not hold it
    CHECK(seen.seen() == Strings{"first", "second"});
    check_opened(seen, gate, busy, {"first", "second", "busy"});
}

TEST_CASE("a wait for a stream outside sends what came before, and holds what comes after") {
    const OrderLog seen;
    const Here here;
    DrainedGate gate;
    const Stream outside(test_device());
    gate.hold(outside);
    seen.note(outside, "outside");
    Batch step = recorded();
    {
        const ScopedBatch in(step);
        launch_host([&] { seen.add("before"); });
        here.stream.wait_stream(outside);
        launch_host([&] { seen.add("after"); });
    }
    CHECK(eventually([&] { return seen.has("before"); }));
    CHECK_FALSE(seen.has("after"));
    check_opened(seen, gate, here.stream, {"before", "outside", "after"});
    CHECK(step.last().graphs == 2);
}

TEST_CASE("waits and questions of the host send what was recorded, and recording goes on") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step = recorded();
    Event event(test_device());
    for (int i = 1; i <= 4; ++i) {
        const ScopedBatch in(step);
        launch(Add{}, dim(10), x, 1);
        if (i == 1) here.stream.synchronize();
        if (i == 2) {
            here.stream.record_event(event);
            event.synchronize();
        }
        if (i == 3) CHECK(eventually([&] { return here.stream.is_complete(); }));
        if (i == 4) synchronize_device(test_device());
        CHECK(to_host(x) == Ints(10, 10 * (i - 1) + 1));
        launch(Add{}, dim(10), x, 9);
    }
    CHECK(to_host(x) == Ints(10, 40));
}

TEST_CASE("pageable memory is copied at once, in its place") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step = recorded();
    std::vector<int> in{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, out(10);
    step.run([&] {
        launch(Add{}, dim(10), x, 100);
        copy(x, in);
        launch(Add{}, dim(10), x, 1);
        copy(out, x);
        CHECK(out == Ints{2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
        in.assign(10, 0);
        launch(Add{}, dim(10), x, 1);
    });
    CHECK(to_host(x) == Ints{3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("an exception sends what was recorded before it") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step = recorded();
    CHECK_THROWS_AS(step.run([&] {
        launch(Add{}, dim(10), x, 1);
        throw Boom("in the body");
    }),
                    Boom);
    CHECK(to_host(x) == Ints(10, 1));
    step.run([&] { launch(Add{}, dim(10), x, 1); });
    CHECK(step.last().outcome == BatchOutcome::replayed);
}

TEST_CASE("arrays made and freed in a batch are there when its work runs") {
    const Here here;
    DrainedGate gate;
    Array<int> sum = zeros<int>(1000);
    gate.hold(here.stream);
    Batch step = recorded();
    for (int i = 0; i < 20; ++i)
        step.run([&] {
            Array<int> temporary = empty<int>(1000);
            fill(temporary, i);
            launch(AddTo{}, dim(1000), temporary, sum);
        });
    gate.open();
    CHECK(to_host(sum) == Ints(1000, 190));
}

TEST_CASE("events recorded in a batch are what they would have been: reached when what is before "
          "them is") {
    const OrderLog seen;
    const Here here;
    const Drained drained;
    const Stream waiter(test_device());
    Event middle(test_device());
    Batch step = recorded();
    Gate inside;
    {
        const ScopedBatch in(step);
        launch_host([&] { seen.add("before"); });
        here.stream.record_event(middle);
    }
    inside.hold(here.stream);
    seen.note(here.stream, "end");
    waiter.wait_event(middle);
    seen.note(waiter, "waiter");
    waiter.synchronize();
    CHECK(middle.is_complete());
    CHECK_FALSE(seen.has("end"));
    inside.open();
    here.stream.synchronize();
    CHECK(seen.seen().back() == "end");
    CHECK(seen.seen().size() == 3);
}

TEST_CASE("an event is waited for by others while the batch that records it is open") {
    const Here here;
    const OrderLog seen;
    const Drained drained;
    const Stream waiter(test_device());
    Batch step = recorded();
    Event event(test_device());
    const ScopedBatch in(step);
    launch_host([&] { seen.add("batch"); });
    here.stream.record_event(event);
    std::thread([&] {
        waiter.wait_event(event);
        seen.note(waiter, "waiter");
        waiter.synchronize();
    }).join();
    CHECK(seen.seen() == Strings{"batch", "waiter"});
}

TEST_CASE("another thread that waits for a stream of an open batch makes it send") {
    const Here here;
    const Drained drained;
    Batch step = recorded();
    Flag ran;
    const ScopedBatch in(step);
    launch_host([ran] { ran.set(); });
    std::thread([&] { here.stream.synchronize(); }).join();
    CHECK(ran.is_set());
}

TEST_CASE("another thread that asks whether a stream of an open batch is complete makes it send") {
    const Here here;
    const Drained drained;
    Batch step = recorded();
    Flag ran;
    Event event(test_device());
    const bool asks_event = GENERATE(false, true);
    const ScopedBatch in(step);
    launch_host([ran] { ran.set(); });
    here.stream.record_event(event);
    bool is_complete = false;
    std::thread([&] {
        is_complete = eventually(
            [&] { return asks_event ? event.is_complete() : here.stream.is_complete(); });
    }).join();
    CHECK(is_complete);  // the scope is still open
    CHECK(ran.is_set());
}

TEST_CASE("batches in batches and captures are taken up by what is around them") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch outer = recorded(), inner = recorded();
    outer.run([&] {
        launch(Add{}, dim(10), x, 1);
        inner.run([&] { launch(Multiply{}, dim(10), x, 3); });
        CHECK(inner.last().outcome == BatchOutcome::eager);
        launch(Add{}, dim(10), x, 1);
    });
    CHECK(outer.last().operations == 3);
    CHECK(to_host(x) == Ints(10, 4));
    Graph graph = capture(here.stream, [&] { inner.run([&] { launch(Add{}, dim(10), x, 6); }); });
    CHECK(graph.size() == 1);
    graph.launch(here.stream);
    CHECK(to_host(x) == Ints(10, 10));
    outer.run([&] {
        launch(Add{}, dim(10), x, 1);
        Graph captured = capture(here.stream, [&] { launch(Add{}, dim(10), x, 100); });
        launch(Add{}, dim(10), x, 1);
        captured.launch();
        launch(Add{}, dim(10), x, 1);
    });
    CHECK(to_host(x) == Ints(10, 113));
}

TEST_CASE("a Batch is used by one scope at a time, and the oldest graphs are forgotten first") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step({.remembered = 2, .on_cpu = true});
    {
        const ScopedBatch in(step);
        CHECK(mentions(error_of([&] { const ScopedBatch again(step); }), "in use"));
    }
    CHECK(step.last().outcome == BatchOutcome::nothing);
    const auto run = [&](int count) {
        step.run([&] {
            for (int i = 0; i < count; ++i) launch(Add{}, dim(10), x, 1);
        });
        return step.last().outcome;
    };
    CHECK(run(1) == BatchOutcome::instantiated);
    CHECK(run(2) == BatchOutcome::instantiated);
    CHECK(run(1) == BatchOutcome::replayed);
    CHECK(run(3) == BatchOutcome::instantiated);
    CHECK(run(1) == BatchOutcome::replayed);
    CHECK(run(2) == BatchOutcome::instantiated);
    CHECK(step.remembered() == 2);
    step.clear();
    CHECK(step.remembered() == 0);
    CHECK(run(1) == BatchOutcome::instantiated);
    CHECK(to_host(x) == Ints(10, 11));
}

TEST_CASE("a stream destroyed in a batch loses no work") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10);
    fill(s, x, 0);
    s.synchronize();
    Batch step = recorded();
    {
        std::optional<Stream> first(std::in_place, test_device());
        const ScopedBatch in(step, *first);
        launch(*first, Add{}, dim(10), x, 1);
        {
            const Stream second(test_device());
            second.wait_stream(*first);
            launch(second, Add{}, dim(10), x, 10);
            first->wait_stream(second);
        }
        launch(*first, Add{}, dim(10), x, 100);
        first.reset();
    }
    synchronize_device(test_device());
    CHECK(to_host(x) == Ints(10, 111));
}

TEST_CASE("host functions in a batch may differ every time, and own what they hold") {
    const Here here;
    const Drained drained;
    Batch step = recorded();
    std::vector<std::unique_ptr<int>> got;
    for (int i = 0; i < 5; ++i)
        step.run([&] {
            launch_host([value = std::make_unique<int>(i), &got]() mutable {
                got.push_back(std::move(value));
            });
        });
    here.stream.synchronize();
    REQUIRE(got.size() == 5);
    for (int i = 0; i < 5; ++i) CHECK(*got[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a host function that throws in a batch poisons its stream") {
    const Here here;
    Batch step = recorded();
    step.run([&] { launch_host([] { throw Boom("in a batch"); }); });
    CHECK(mentions(error_of([&] { here.stream.synchronize(); }), "in a batch"));
    bool ran = false;
    step.run([&] { launch_host([&] { ran = true; }); });
    CHECK(here.stream.clear_error() != nullptr);
    CHECK_FALSE(ran);
    step.run([&] { launch_host([&] { ran = true; }); });
    here.stream.synchronize();
    CHECK(ran);
}

TEST_CASE("10,000 operations in a batch, with one that changes") {
    const Here here;
    Array<int> x = zeros<int>(10);
    Batch step = recorded();
    constexpr int count = 10000;
    for (int round = 0; round < 3; ++round) {
        step.run([&] {
            for (int i = 0; i < count; ++i) launch(Add{}, dim(10), x, i == 77 ? round : 1);
        });
        CHECK(step.last().operations == count);
        if (round > 0) CHECK(step.last().changed == 1);
    }
    CHECK(to_host(x) == Ints(10, 3 * (count - 1) + 3));
}

TEST_CASE("an event recorded in a batch and then elsewhere means the newest record") {
    const Here here;
    DrainedGate gate;
    const Stream other(test_device());
    Event event(test_device());
    gate.hold(here.stream);
    Batch step = recorded();
    step.run([&] {
        launch_host([] {});
        here.stream.record_event(event);
        other.record_event(event);
    });
    event.synchronize();  // returns although the batch is held
    CHECK(event.is_complete());
    gate.open();
}

TEST_CASE("a graph with memory of its own that a batch sends waits for who used that memory") {
    const Here here;
    const Drained drained;
    Array<int> y = zeros<int>(100), z = zeros<int>(100);
    auto memory = alloc_node<int>(100);
    auto in = fill_node(memory.view(), 7).after(memory);
    Graph graph = copy_node(y, memory.view()).after(in).build();
    graph.launch();
    const Stream reader(test_device());
    reader.wait_stream(here.stream);
    Gate gate(reader);
    launch(reader, CopyKernel{}, dim(100), memory.view(), z);  // must read 7, the old value
    Flag ran;
    Batch step = recorded();
    step.run([&] {
        graph.launch();
        launch_host([ran] { ran.set(); });
    });
    finish_work(test_device());
    CHECK_FALSE(ran.is_set());
    gate.open();
    here.stream.synchronize();
    CHECK(ran.is_set());
    reader.synchronize();
    CHECK(to_host(z) == Ints(100, 7));
}

static_assert(!std::is_constructible_v<ScopedBatch, Batch&, Stream>,
              "a temporary stream would be gone at once");
static_assert(std::is_constructible_v<ScopedBatch, Batch&, Stream&> &&
              std::is_constructible_v<ScopedBatch, Batch&, StreamRef>);

TEST_CASE("a batch runs a function for a stream, which is current in it") {
    const Here here;
    const Stream other(test_device());
    Array<int> x = zeros<int>(other, 10);
    Batch step = recorded();
    bool was_current = false;
    step.run(other, [&] {
        was_current = current_stream(test_device()) == other;
        launch(Add{}, dim(10), x, 1);
    });
    CHECK(was_current);
    CHECK(current_stream(test_device()) == here.stream);
    CHECK(step.last().operations == 1);
    CHECK(to_host(other, x) == Ints(10, 1));
}
