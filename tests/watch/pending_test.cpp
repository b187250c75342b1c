// what_is_pending(): its data and its text, on CPU devices.
#include <heddle/observe/watch.hpp>

#include <algorithm>

#include "child.hpp"
#include "core/seam/records.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

namespace {

const PendingStream* find(const PendingWork& work, const std::string& name) {
    const auto found = std::ranges::find(work.streams, name, &PendingStream::name);
    return found != work.streams.end() ? &*found : nullptr;
}

bool has_cause(const PendingWork& work, CauseKind kind, const std::string& part) {
    return std::ranges::any_of(work.causes, [&](const PendingCause& one) {
        return one.kind == kind && one.text.find(part) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("nothing is pending of streams that are idle", "[watch]") {
    const Drained drained;
    const Stream s = named("idle one");
    launch_host(s, [] {});
    s.synchronize();
    // It may take a moment until the worker has left the stream.
    CHECK(eventually([] { return find(what_is_pending(), "idle one") == nullptr; }));
}

TEST_CASE("a host function that runs is pending, and is a cause", "[watch]") {
    const Drained drained;
    const Stream s = named("holder");
    Held held(s, SourceLocation{"dir/held.cpp", 12});
    held.wait();
    launch_host(s, [] {});
    const PendingWork work = what_is_pending();
    const PendingStream* const stream = find(work, "holder");
    REQUIRE(stream != nullptr);
    CHECK(stream->status == StreamStatus::running);
    CHECK(stream->id == s.id());
    CHECK(stream->device == cpu_device());
    CHECK(stream->pending == 2);
    CHECK(stream->where.line == 12);
    CHECK(has(stream->text, "enqueued at held.cpp:12"));
    CHECK(has(stream->text, "1 more is pending"));
    CHECK(has_cause(work, CauseKind::operation_runs, "at held.cpp:12 has not returned"));
    CHECK(has(to_string(work), "\n  cause: the host function "));
}

TEST_CASE("a stream that waits says for whom, and how much comes before", "[watch]") {
    const Drained drained;
    const Stream a = named("first"), b = named("second"), c = named("third");
    Held held(a);
    held.wait();
    launch_host(a, [] {});
    launch_host(a, [] {});
    b.wait_event(a.record_event(), SourceLocation{"wait.cpp", 5});
    launch_host(b, [] {});
    c.wait_stream(b);
    const PendingWork work = what_is_pending();
    const PendingStream* const second = find(work, "second");
    REQUIRE(second != nullptr);
    CHECK(second->status == StreamStatus::waiting);
    CHECK(second->waits_for == "first");
    CHECK(has(second->text, "'second' waits for"));
    CHECK(has(second->text, "(wait.cpp:5)"));
    CHECK(has(second->text, "after 2 more operations"));
    const PendingStream* const third = find(work, "third");
    REQUIRE(third != nullptr);
    CHECK(third->waits_for == "second");
}

TEST_CASE("while the process is watched, waits name the record of the event", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream a = named("first"), b = named("second");
    Event event(cpu_device());
    event.record(a);
    Held held(a);
    held.wait();
    event.record(a);
    b.wait_event(event);
    const PendingWork work = what_is_pending();
    const PendingStream* const second = find(work, "second");
    REQUIRE(second != nullptr);
    CHECK(second->event.record == 2);
    CHECK(has(second->text, "record 2 of event"));
    CHECK(has(second->text, ", which 'first' reaches"));
}

TEST_CASE("while the process is watched, streams have their last operations", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream a = named("recorded");
    for (int i = 0; i < 3; ++i) launch_host(a, [] {}, SourceLocation{"done.cpp", 3});
    a.synchronize();
    Held held(a);
    held.wait();
    (void)a.record_event();
    const PendingWork work = what_is_pending();
    const PendingStream* const stream = find(work, "recorded");
    REQUIRE(stream != nullptr);
    REQUIRE(stream->recent.size() == 5);
    CHECK(stream->recent[0].is_done);
    CHECK(stream->recent[0].kind == OpKind::host_function);
    CHECK(!stream->recent[3].is_done);
    CHECK(stream->recent[4].kind == OpKind::record);
    CHECK(!stream->recent[4].is_done);
    CHECK(has(to_string(work, true), "at done.cpp:3 (done), 3 times\n"));
    CHECK(!has(to_string(work), "last operations"));
}

TEST_CASE("a thread that waits says in which call, where, and for what", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream a = named("awaited");
    Held held(a);
    held.wait();
    std::thread waiter([&] { a.synchronize(SourceLocation{"waiter.cpp", 9}); });
    PendingWork work;
    CHECK(eventually([&] {
        work = what_is_pending();
        return !work.threads.empty();
    }));
    held.open();
    waiter.join();
    REQUIRE(work.threads.size() == 1);
    CHECK(work.threads[0].call == "synchronize");
    CHECK(work.threads[0].where.line == 9);
    CHECK(work.threads[0].waits_for == "awaited");
    CHECK(has(work.threads[0].text, "waits in synchronize() at waiter.cpp:9 for 'awaited'"));
    CHECK(what_is_pending().threads.empty());
}

// Needs a process of its own. Other tests expose native handles, and the work of such streams is
// unknown to heddle.
TEST_CASE("a wait that nothing under way will end is a cause", "[watch]") {
    check_test_case("a lost wait");
}
TEST_CASE("a lost wait", "[.]") {
    const Drained drained;
    const Stream held = named("held by a gate");
    Gate gate;  // the test itself will end this wait
    gate.hold(held);
    launch_host(held, [] {});
    CHECK(has_cause(what_is_pending(), CauseKind::nothing_reaches, "no pending work reaches"));
}

TEST_CASE("a lost wait is found beside a stream that never rests", "[watch]") {
    check_test_case("a lost wait beside a stream that never rests");
}
TEST_CASE("a lost wait beside a stream that never rests", "[.]") {
    const Drained drained;
    const Flag is_enough;
    std::thread working([is_enough] {
        const Stream s = named("never rests");
        while (!is_enough.is_set()) {
            for (int i = 0; i < 100; ++i) launch_host(s, [] {});
            (void)s.record_event();
        }
    });
    const Stream held = named("held by a gate");
    Gate gate(held);
    launch_host(held, [] {});
    CHECK(eventually([&] {
        return has_cause(what_is_pending(), CauseKind::nothing_reaches, "no pending work reaches");
    }));
    is_enough.set();
    working.join();
}

// A graph's completions count as promised even before the graph begins.
TEST_CASE("no wait is lost for work of a graph that has not begun", "[watch]") {
    check_test_case("waits for work of a graph that has not begun");
}
TEST_CASE("waits for work of a graph that has not begun", "[.]") {
    const Drained drained;
    const Stream a = named("a"), b = named("b"), c = named("c");
    Event event(cpu_device());
    Graph graph = host_node(cpu_device(), [] {}).build();
    const Held held(a);
    held.wait();
    SECTION("a stream of a batch") {
        Batch batch({.on_cpu = true});
        const ScopedBatch in(batch, a);
        launch_host(a, [] {});
        b.wait_stream(a);
        launch_host(b, [] {});
    }
    SECTION("a graph that is launched on two streams") {
        graph.launch(a);
        graph.launch(b);
    }
    SECTION("an event that a graph records") {
        Graph records = capture(c, [&] {
            launch_host(c, [] {});
            record_external(c, event);
        });
        records.launch(a);
        b.wait_event(event);
    }
    const PendingWork work = what_is_pending();
    REQUIRE(find(work, "b") != nullptr);
    for (const PendingCause& one : work.causes) {
        INFO(one.text);
        CHECK(one.kind != CauseKind::nothing_reaches);
    }
}

TEST_CASE("a wait that may be another thread's is told without its record", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream a = named("records"), b = named("waits");
    const Held held(a);
    held.wait();
    const Event event = a.record_event();
    b.wait_event(event, SourceLocation{"both.cpp", 5});
    REQUIRE(has(find(what_is_pending(), "waits")->text, "waits for record 1 of event"));
    // Simulates another thread that enqueues a wait on the same line, and records it earlier.
    detail::StreamRecord& record = detail::record_of(StreamRef(b));
    record.flight.load()->put(record.noted.fetch_add(1) + 1, record.submissions.load(),
                              {.kind = OpKind::wait,
                               .name = "wait_event",
                               .where = SourceLocation{"both.cpp", 5},
                               .event = {.event = 77, .record = 9}});
    const PendingWork work = what_is_pending();
    CHECK(!has(find(work, "waits")->text, "of event"));
    CHECK(has(find(work, "waits")->text, "waits for 'records'"));
}

TEST_CASE("an open batch says who opened it, where, and what it holds back", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream s = named("batched");
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, s, SourceLocation{"batch.cpp", 4});
    for (int i = 0; i < 3; ++i) launch_host(s, [] {}, SourceLocation{"batch.cpp", 6});
    const PendingWork work = what_is_pending();
    const PendingStream* const stream = find(work, "batched");
    REQUIRE(stream != nullptr);
    CHECK(stream->status == StreamStatus::recording);
    CHECK(stream->pending == 3);
    CHECK(has(stream->text, "3 operations in the batch that thread"));
    CHECK(has_cause(work, CauseKind::batch_is_open, "opened at batch.cpp:4 is still open"));
    CHECK(has_cause(work, CauseKind::batch_is_open, "at batch.cpp:6) will run"));
}

// The work that a stream had before it joined an open batch is not a part of the batch. The thread
// waits only for that earlier work.
TEST_CASE("a stream of an open batch still has what it got before", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream a = named("batched"), b = named("waits");
    Held held(a, SourceLocation{"held.cpp", 3});
    held.wait();
    b.wait_stream(a);
    std::thread owner([&] {
        Batch batch({.on_cpu = true});
        const ScopedBatch in(batch, a, SourceLocation{"batch.cpp", 4});
        launch_host(a, [] {});
        b.synchronize(SourceLocation{"owner.cpp", 5});
    });
    CHECK(eventually([] {
        return std::ranges::any_of(what_is_pending().threads, [](const PendingThread& one) {
            return has(one.text, "owner.cpp:5");
        });
    }));
    // A snapshot reads streams before threads. So the snapshot above may lack the batch. A new
    // snapshot contains it.
    const PendingWork work = what_is_pending();
    held.open();
    owner.join();
    const PendingStream* const stream = find(work, "batched");
    REQUIRE(stream != nullptr);
    CHECK(stream->status == StreamStatus::running);
    CHECK(stream->pending == 1);
    CHECK(has(stream->text, "enqueued at held.cpp:3"));
    CHECK(has(stream->text, "; 1 operation in the batch that thread"));
    CHECK(has(find(work, "waits")->text, "'waits' waits for 'batched'"));
    CHECK(has_cause(work, CauseKind::operation_runs, "at held.cpp:3 has not returned"));
    CHECK(has_cause(work, CauseKind::batch_is_open, "opened at batch.cpp:4 is still open"));
    CHECK(!has_cause(work, CauseKind::cycle, ""));
}

// Dropped work is not pending. The failed stream is still listed, because a thread may wait for
// that work by other means.
TEST_CASE("a stream that has failed is told of, until it is cleared", "[watch]") {
    const Drained drained;
    const Stream s = named("failed one");
    launch_host(s, [] { throw std::runtime_error("bad"); }, SourceLocation{"fails.cpp", 8});
    CHECK_THROWS(s.synchronize());
    launch_host(s, [] {});
    const PendingWork work = what_is_pending();
    CHECK(find(work, "failed one") == nullptr);
    REQUIRE(work.failed.size() == 1);
    CHECK(has(work.failed[0], "'failed one' has failed: "));
    CHECK(has(work.failed[0], "threw: bad; later work on this stream"));
    CHECK(has(work.failed[0], "fails.cpp:8"));
    CHECK(has(to_string(work), work.failed[0]));
    s.clear_error();
    CHECK(what_is_pending().failed.empty());
}

TEST_CASE("a node that runs is named with its graph", "[watch]") {
    const Drained drained;
    const Stream s = named("of a graph");
    Flag inside, opened;
    Graph graph = host_node(
                      cpu_device(),
                      [inside, opened] {
                          inside.set();
                          (void)opened.wait();
                      },
                      SourceLocation{"node.cpp", 2})
                      .build();
    const Watched watched;
    graph.launch(s, SourceLocation{"graph.cpp", 8});
    const bool is_inside = inside.wait();
    const PendingWork work = what_is_pending();
    opened.set();
    CHECK(is_inside);
    const PendingStream* const stream = find(work, "of a graph");
    REQUIRE(stream != nullptr);
    CHECK(has(stream->text, "runs the graph launched at graph.cpp:8"));
    CHECK(has_cause(work, CauseKind::operation_runs,
                    "at node.cpp:2, in the graph launched at graph.cpp:8, has not returned"));
}

TEST_CASE("all workers in host functions are a cause, with the stream that is ready", "[watch]") {
    const Drained drained;
    const Watched watched;
    std::vector<Stream> streams;
    std::vector<std::unique_ptr<Held>> all;
    for (int i = 0; i < cpu_workers(); ++i) {
        streams.push_back(named("inside"));
        all.push_back(std::make_unique<Held>(streams.back()));
        all.back()->wait();
    }
    const Stream late = named("late");
    launch_host(late, [] {});
    const PendingWork work = what_is_pending();
    const PendingStream* const stream = find(work, "late");
    REQUIRE(stream != nullptr);
    CHECK(stream->status == StreamStatus::ready);
    CHECK(has(stream->text, "ready to run, but no worker is free"));
    CHECK(has_cause(work, CauseKind::workers_busy,
                    "but 'late' is ready and no worker is free to run it"));
}
