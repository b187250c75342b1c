// Long programs that use captures, batches and graphs.
#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

void capture_of_a_slow_thread() {
    const Stream s = stream_named("s");
    ScopedCapture capture(s);
    repeat_for_long([&] {
        launch_host(s, [] {});
        sleep_a_while();
    });
    capture.end().launch(s);
    s.synchronize();
}

void capture_of_a_thread_that_computes() {
    const Stream s = stream_named("s");
    ScopedCapture capture(s);
    launch_host(s, [] {});
    sleep_for_long();
    static_cast<void>(capture.end());
}

void capture_while_another_stream_works() {
    const Stream s = stream_named("s"), other = stream_named("other");
    for (int i = 0; i < long_row; ++i) launch_host(other, sleep_a_while);
    ScopedCapture capture(s);
    launch_host(s, [] {});
    other.synchronize();
    static_cast<void>(capture.end());
}

void batch_of_a_slow_thread() {
    const Stream s = stream_named("s");
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, s);
    repeat_for_long([&] {
        launch_host(s, [] {});
        sleep_a_while();
    });
}

void batch_with_nothing_in_it() {
    const Stream s = stream_named("s");
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, s);
    sleep_for_long();
    launch_host(s, [] {});
}

void batch_that_is_sent_now_and_then() {
    const Stream s = stream_named("s");
    Batch batch({.on_cpu = true});
    ScopedBatch in(batch, s);
    for (int i = 0; i < long_row; ++i) {
        launch_host(s, sleep_a_while);
        if (i % 5 == 0) in.flush();
    }
    in.end();
    s.synchronize();
}

void batch_of_many_streams() {
    const Stream s = stream_named("s");
    std::vector<Stream> streams;
    for (int i = 0; i < 5; ++i) streams.push_back(stream_named("in the batch"));
    Batch batch({.on_cpu = true});
    repeat_for_long([&] {
        {
            const ScopedBatch in(batch, s);
            for (const Stream& one : streams) {
                one.wait_stream(s);
                launch_host(one, sleep_a_while);
                s.wait_stream(one);
            }
        }
        s.synchronize();
    });
}

void graph_that_is_launched_again_and_again() {
    const Stream s = stream_named("s");
    Graph graph = capture(s, [&] { launch_host(s, sleep_a_while); });
    for (int i = 0; i < long_row; ++i) graph.launch(s);
    s.synchronize();
}

void graph_of_a_long_row_of_nodes() {
    const Stream s = stream_named("s");
    Graph graph = capture(s, [&] {
        for (int i = 0; i < long_row; ++i) launch_host(s, sleep_a_while);
    });
    graph.launch(s);
    s.synchronize();
}

void graph_of_many_branches() {
    const Stream s = stream_named("s");
    const auto branch = [](std::size_t) {
        for (int i = 0; i < long_row / 4; ++i) launch_host(sleep_a_while);
    };
    Graph graph = capture(s, [&] { fork_join_n(s, 8, branch); });
    graph.launch(s);
    s.record_event().synchronize();
}

void loop_of_many_passes() {
    const Stream s = stream_named("s");
    Array<int> left = full<int>(s, 1, long_row);
    const auto count = [] HEDDLE_FN(std::size_t, View<int> n) {
        sleep_a_while();
        --n[0];
    };
    Graph loop = while_node(left, kernel_node(count, dim(1), left).build()).build();
    loop.launch(s);
    s.synchronize();
}

void condition_that_is_read_on_the_host() {
    const Stream s = stream_named("s");
    Array<int> left = full<int>(s, 1, long_row);
    const auto count = [] HEDDLE_FN(std::size_t, View<int> n) {
        sleep_a_while();
        --n[0];
    };
    capture_while(s, left, [&] { launch(s, count, dim(1), left); });
}

void graph_on_two_streams_by_turns() {
    const Stream a = stream_named("a"), b = stream_named("b");
    Graph graph = capture(a, [&] { launch_host(a, sleep_a_while); });
    for (int i = 0; i < long_row / 2; ++i) {
        graph.launch(a);
        graph.launch(b);
    }
    b.record_event().synchronize();
}

}  // namespace

std::vector<HealthyProgram> healthy_recordings() {
    return {
        {"capture of a slow thread", capture_of_a_slow_thread},
        {"capture of a thread that computes", capture_of_a_thread_that_computes},
        {"capture while another stream works", capture_while_another_stream_works},
        {"batch of a slow thread", batch_of_a_slow_thread},
        {"batch with nothing in it", batch_with_nothing_in_it},
        {"batch that is sent now and then", batch_that_is_sent_now_and_then},
        {"batch of many streams", batch_of_many_streams},
        {"graph that is launched again and again", graph_that_is_launched_again_and_again},
        {"graph of a long row of nodes", graph_of_a_long_row_of_nodes},
        {"graph of many branches", graph_of_many_branches},
        {"loop of many passes", loop_of_many_passes},
        {"condition that is read on the host", condition_that_is_read_on_the_host},
        {"graph on two streams by turns", graph_on_two_streams_by_turns},
    };
}

}  // namespace heddle_test
