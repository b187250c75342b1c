// A stream lends its priority to the streams that it waits for.
#include <deque>
#include <initializer_list>
#include <string>

#include "cpu/workers.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

/// Streams with several priorities. Records the order in which one worker runs their work.
class Scene {
public:
    Stream low{cpu_device(), {.priority = 0}}, middle{cpu_device(), {.priority = -2}},
        urgent{cpu_device(), {.priority = -5}};

    void note(StreamRef stream, const std::string& what) const { order_.note(stream, what); }
    auto noting(const std::string& what) const {
        return [order = order_, what] { order.add(what); };
    }
    /// Frees one worker. Returns the work that it runs, in order. Waits for flags, because a thread
    /// that waits for a stream would run work itself.
    std::string run(std::initializer_list<StreamRef> others = {}) {
        std::deque<Flag> ends;
        const auto end_of = [&](StreamRef stream) {
            on_completion(stream, [end = ends.emplace_back()](std::exception_ptr) { end.set(); });
        };
        for (const StreamRef stream : {StreamRef(low), StreamRef(middle), StreamRef(urgent)})
            end_of(stream);
        for (const StreamRef stream : others) end_of(stream);
        workers_.open_one();
        for (const Flag& end : ends) CHECK(end.wait());
        std::string all;
        for (const std::string& one : order_.seen()) all += (all.empty() ? "" : " ") + one;
        return all;
    }
    const HeldWorkers& workers() const { return workers_; }

private:
    const Drained drained_{};
    OrderLog order_;
    HeldWorkers workers_;
};

/// Occupies a worker with the stream's work. wait_inside() returns when the worker is occupied.
class HeldInside {
public:
    explicit HeldInside(StreamRef stream) {
        launch_host(stream, [inside = inside_, opened = opened_] {
            inside.set();
            (void)opened.wait();
        });
    }
    ~HeldInside() { open(); }
    HeldInside(const HeldInside&) = delete;
    void wait_inside() const { CHECK(inside_.wait()); }
    void open() const { opened_.set(); }

private:
    Flag inside_, opened_;
};

}  // namespace

TEST_CASE("child: a ready stream is lent a priority", "[.child]") {
    Scene scene;
    scene.note(scene.low, "low");
    const Event point = scene.low.record_event();
    scene.note(scene.low, "behind");
    scene.note(scene.middle, "middle");
    scene.urgent.wait_event(point);
    scene.note(scene.urgent, "urgent");
    CHECK(scene.run() == "low urgent middle behind");
}
TEST_CASE("a stream lends its priority to the one that it waits for, until the awaited point",
          "[cpu]") {
    check_with_workers("child: a ready stream is lent a priority");
}

TEST_CASE("child: streams of equal priority lend nothing", "[.child]") {
    Scene scene;
    const Stream other(cpu_device());
    scene.note(scene.middle, "middle");
    scene.note(scene.low, "low");
    const Stream waits(cpu_device());
    waits.wait_stream(scene.low);
    scene.note(waits, "waits");
    scene.note(other, "other");
    CHECK(scene.run({waits, other}) == "middle low other waits");
}
TEST_CASE("a stream that waits for one of its own priority changes nothing", "[cpu]") {
    check_with_workers("child: streams of equal priority lend nothing");
}

TEST_CASE("child: a stream that runs is lent a priority", "[.child]") {
    Scene scene;
    const HeldInside held(scene.low);
    scene.note(scene.low, "low");
    const Event point = scene.low.record_event();
    scene.note(scene.low, "behind");
    scene.workers().open_one();
    held.wait_inside();
    scene.note(scene.middle, "middle");
    scene.urgent.wait_event(point);
    scene.note(scene.urgent, "urgent");
    held.open();
    CHECK(scene.run() == "low urgent middle behind");
}
TEST_CASE("a stream whose operation runs is lent a priority for the next ones", "[cpu]") {
    check_with_workers("child: a stream that runs is lent a priority");
}

TEST_CASE("child: priorities are lent along chains", "[.child]") {
    for (const bool urgent_is_first : {false, true}) {
        Scene scene;
        const Stream between(cpu_device(), {.priority = -1}), more(cpu_device(), {.priority = -1});
        Gate gate;  // otherwise, `more` would wait immediately
        const auto wait_urgently = [&] {
            scene.urgent.wait_stream(more);
            scene.note(scene.urgent, "urgent");
        };
        scene.note(scene.middle, "middle");
        scene.note(scene.low, "low");
        if (urgent_is_first) {
            gate.hold(between);
            gate.hold(more);
        }
        between.wait_stream(scene.low);
        scene.note(between, "between");
        more.wait_stream(between);
        scene.note(more, "more");
        wait_urgently();
        gate.open();
        scene.note(scene.low, "behind");
        CHECK(scene.run({between, more}) == "low between more urgent middle behind");
    }
}
TEST_CASE("priorities are lent along chains of waits, whichever wait comes first", "[cpu]") {
    check_with_workers("child: priorities are lent along chains");
}

TEST_CASE("child: a stream lends what it waits for later", "[.child]") {
    Scene scene;
    const Stream between(cpu_device(), {.priority = -1});
    Gate gate(scene.low);
    scene.note(scene.low, "low");
    scene.note(between, "first");
    between.wait_stream(scene.low);
    scene.note(between, "second");
    scene.note(scene.middle, "middle");
    scene.urgent.wait_stream(between);
    scene.note(scene.urgent, "urgent");
    gate.open();
    CHECK(scene.run({between}) == "first low second urgent middle");
}
TEST_CASE("a stream lends a borrowed priority at the waits that it comes to", "[cpu]") {
    check_with_workers("child: a stream lends what it waits for later");
}

TEST_CASE("child: two streams lend until two points", "[.child]") {
    Scene scene;
    const Stream less(cpu_device(), {.priority = -4}), urgent_too(cpu_device(), {.priority = -3});
    scene.note(scene.low, "1");
    const Event first = scene.low.record_event();
    scene.note(scene.low, "2");
    const Event second = scene.low.record_event();
    scene.note(scene.low, "3");
    less.wait_event(second);
    scene.urgent.wait_event(first);
    scene.note(scene.urgent, "urgent");
    scene.note(less, "less");
    scene.note(urgent_too, "beside");
    scene.note(scene.middle, "middle");
    CHECK(scene.run({less, urgent_too}) == "1 urgent 2 less beside middle 3");
}
TEST_CASE("a stream has the most urgent of the priorities that others lend it", "[cpu]") {
    check_with_workers("child: two streams lend until two points");
}

TEST_CASE("child: runs of graphs are lent a priority", "[.child]") {
    for (const bool runs : {false, true}) {
        Scene scene;
        Flag inside, opened;
        capture(scene.low, [&] {
            if (runs)
                launch_host(scene.low, [=] {
                    inside.set();
                    (void)opened.wait();
                });
            launch_host(scene.low, scene.noting("first"));
            launch_host(scene.low, scene.noting("second"));
        }).launch(scene.low);
        const Event point = scene.low.record_event();
        scene.note(scene.low, "behind");
        if (runs) {
            scene.workers().open_one();
            CHECK(inside.wait());
        }
        scene.note(scene.middle, "middle");
        scene.urgent.wait_event(point);
        scene.note(scene.urgent, "urgent");
        opened.set();
        CHECK(scene.run() == "first second urgent middle behind");
    }
}
TEST_CASE("a graph's run is lent a priority, before it begins and while it runs", "[cpu]") {
    check_with_workers("child: runs of graphs are lent a priority");
}

TEST_CASE("child: runs of graphs lend", "[.child]") {
    for (const bool borrows : {false, true}) {
        Scene scene;
        const Stream other(cpu_device());
        const StreamRef runner = borrows ? StreamRef(other) : StreamRef(scene.urgent);
        scene.note(scene.low, "low");
        const Event point = scene.low.record_event();
        scene.note(scene.low, "behind");
        scene.note(scene.middle, "middle");
        auto wait = wait_node(point);
        auto task = host_node(scene.noting("task"));
        task.after(wait);
        task.build().launch(runner);
        if (borrows) {
            scene.urgent.wait_stream(other);
            scene.note(scene.urgent, "urgent");
        }
        CHECK(scene.run({runner}) ==
              (borrows ? "low task urgent middle behind" : "low task middle behind"));
    }
}
TEST_CASE("a graph's run lends the priority of its stream to those that it waits for", "[cpu]") {
    check_with_workers("child: runs of graphs lend");
}

TEST_CASE("child: batches lend", "[.child]") {
    Scene scene;
    const Stream first(cpu_device());
    Batch batch({.on_cpu = true});
    scene.note(scene.middle, "middle");
    {
        ScopedBatch in(batch, first);
        scene.note(first, "first");
        scene.urgent.wait_stream(first);
        scene.note(scene.urgent, "urgent");
    }
    CHECK(batch.last().outcome != BatchOutcome::eager);
    CHECK(scene.run({first}) == "first urgent middle");
}
TEST_CASE("a stream lends its priority to the batch that it is part of", "[cpu]") {
    check_with_workers("child: batches lend");
}

TEST_CASE("child: streams that end or fail are lent a priority", "[.child]") {
    for (const bool fails : {false, true}) {
        Scene scene;
        {
            const Stream between(cpu_device(), {.priority = -1});
            scene.note(scene.low, "low");
            if (fails) launch_host(scene.low, [] { throw std::runtime_error("meant"); });
            between.wait_stream(scene.low);
            scene.note(between, "between");
            scene.note(scene.middle, "middle");
            scene.urgent.wait_stream(between);
        }
        on_completion(scene.urgent,
                      [note = scene.noting("urgent")](std::exception_ptr) { note(); });
        CHECK(scene.run() == (fails ? "low urgent middle" : "low between urgent middle"));
        if (!fails) continue;
        CHECK_THROWS(scene.urgent.synchronize());
        CHECK_THROWS(scene.low.synchronize());
    }
}
TEST_CASE("priorities are lent through streams that were destroyed, and that fail", "[cpu]") {
    check_with_workers("child: streams that end or fail are lent a priority");
}
