// Programs that hang in captures, batches and graphs.
#include <thread>

#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

/// Enqueues a function that waits for the door. Returns when a worker runs the function.
void wait_for_door(const Stream& consumer, const Door& door, Where where) {
    const Door begun;
    const auto pass = [door, begun] {
        begun.open();
        door.pass();
    };
    launch_host(consumer, pass, where);
    begun.pass();
}

void stream_in_an_open_capture() {
    const Door door;
    const Stream producer = stream_named("producer"), consumer = stream_named("consumer");
    wait_for_door(consumer, door, here("culprit"));
    ScopedCapture capture(producer, {}, here("begun"));
    launch_host(producer, [door] { door.open(); }, here("recorded"));
    print_hangs();
    consumer.synchronize(here("waits"));
    capture.end().launch(producer);
}

void stream_in_another_threads_capture() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const Door door;
    const Stream producer = stream_named("producer"), consumer = stream_named("consumer");
    const Door is_capturing;
    std::thread other([&] {
        const ScopedCapture capture(producer, {}, here("begun"));
        is_capturing.open();
        const std::lock_guard inner(mutex);
    });
    is_capturing.pass();
    wait_for_door(consumer, door, here("culprit"));
    launch_host(producer, [door] { door.open(); }, here("recorded"));
    print_hangs();
    consumer.synchronize(here("waits"));
    other.join();
}

void stream_in_an_open_batch() {
    const Door door;
    const Stream producer = stream_named("producer"), consumer = stream_named("consumer");
    wait_for_door(consumer, door, here("culprit"));
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, producer, here("begun"));
    launch_host(producer, [door] { door.open(); }, here("recorded"));
    print_hangs();
    consumer.synchronize(here("waits"));
}

void stream_in_another_threads_batch() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const Door door;
    const Stream producer = stream_named("producer"), consumer = stream_named("consumer");
    wait_for_door(consumer, door, here("culprit"));
    const Door is_open;
    std::thread other([&] {
        Batch batch({.on_cpu = true});
        const ScopedBatch in(batch, producer, here("begun"));
        launch_host(producer, [door] { door.open(); }, here("recorded"));
        is_open.open();
        const std::lock_guard inner(mutex);
    });
    is_open.pass();
    print_hangs();
    consumer.synchronize(here("waits"));
    other.join();
}

void node_that_does_not_end() {
    const Stream s = stream_named("solver");
    Array<float> x = zeros<float>(s, 1);
    auto first = kernel_node(Increment{}, dim(1), x);
    auto stuck = host_node(cpu_device(), [] { never_return(); }, here("node")).after(first);
    Graph graph = kernel_node(Increment{}, dim(1), x).after(stuck).build();
    graph.launch(s, here("launched"));
    print_hangs();
    s.synchronize(here("waits"));
}

void graph_that_still_runs_on_another_stream() {
    const Stream a = stream_named("a"), b = stream_named("b");
    Graph graph = capture(a, [&] { launch_host(a, [] { never_return(); }, here("node")); });
    graph.launch(a, here("launched"));
    graph.launch(b, here("waited"));
    const Event done = b.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void body_that_does_not_end() {
    const Stream s = stream_named("solver");
    Array<int> left = full<int>(s, 1, 3);
    Array<float> x = zeros<float>(s, 1);
    const auto count = [] HEDDLE_FN(std::size_t, View<int> n) {
        if (--n[0] == 1) never_return();
    };
    Graph body = kernel_node(count, dim(1, here("node")), left).build();
    Graph loop = while_node(left, body).build();
    loop.launch(s, here("launched"));
    const Event done = s.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void batch_that_was_sent() {
    const Stream s = stream_named("solver");
    Array<float> x = zeros<float>(s, 1);
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, s);
    launch(s, Increment{}, dim(1), x);
    launch(s, Forever{}, dim(1, here("culprit")), x, 0);
    print_hangs();
    s.synchronize(here("waits"));
}

}  // namespace

std::vector<HangingProgram> hanging_recordings() {
    const Strings function = {"the host function", "{culprit}", "has not returned"};
    const Strings capture = {"'producer'", "capture", "{begun}"};
    const Strings batch = {"'producer'", "batch", "{begun}"};
    const Strings no_worker = {"worker", "{culprit}"};
    return {
        {"stream in an open capture",
         stream_in_an_open_capture,
         {capture, function},
         {no_worker},
         {"'consumer'", "{waits}"}},
        {"stream in another thread's capture",
         stream_in_another_threads_capture,
         {capture, function},
         {no_worker},
         {"'consumer'", "{waits}"}},
        {"stream in an open batch",
         stream_in_an_open_batch,
         {batch, function},
         {no_worker},
         {"'consumer'", "{waits}"}},
        {"stream in another thread's batch",
         stream_in_another_threads_batch,
         {batch, function},
         {no_worker},
         {"'consumer'", "{waits}"}},
        {"node that does not end",
         node_that_does_not_end,
         {{"the host function", "{node}", "{launched}", "has not returned"}},
         {},
         {"'solver'", "{waits}"}},
        {"graph that still runs on another stream",
         graph_that_still_runs_on_another_stream,
         {{"the host function", "{node}", "{launched}", "has not returned"}},
         {},
         {"'b' waits for", "{waited}", "'a'", "{waits}"}},
        {"body that does not end",
         body_that_does_not_end,
         {{"the kernel", "{node}", "{launched}", "has not ended"}},
         {},
         {"'solver'", "{waits}"}},
        {"batch that was sent",
         batch_that_was_sent,
         {{"the kernel ", "Forever at {culprit}", "has not ended"}},
         {},
         {"'solver'", "{waits}"}},
    };
}

}  // namespace heddle_test
