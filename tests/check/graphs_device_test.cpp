// The checker on graphs, captures, batches and collectives, also with several devices.
#include <atomic>
#include <stdexcept>

#include "check/checked_streams.hpp"

using namespace heddle_test;
using check::RaceKind;

namespace heddle_test {

/// x[i] += 1, after the previous kernel has ended
struct Dependent {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const {
        wait_for_primary();
        x[i] += 1;
    }
};

// Recorded work runs as soon as it is launched, so a test cannot order it without the checker's
// knowledge. These kernels use atomic accesses instead: ThreadSanitizer then sees no race.

/// x[i] += value
struct AddAtomically {
    HEDDLE_FN void operator()(std::size_t i, View<int> x, int value) const {
#ifdef __CUDA_ARCH__
        atomicAdd(&x[i], value);
#else
        std::atomic_ref(x[i]).fetch_add(value, std::memory_order_relaxed);
#endif
    }
};

/// y[i] += x[i], where only one kernel uses y
struct AddToAtomically {
    HEDDLE_FN void operator()(std::size_t i, View<const int> x, View<int> y) const {
#ifdef __CUDA_ARCH__
        y[i] += x[i];
#else
        y[i] += __atomic_load_n(&x[i], __ATOMIC_RELAXED);
#endif
    }
};

}  // namespace heddle_test

TEST_CASE("device: two_nodes_without_edge, diamond") {
    const bool has_edge = GENERATE(false, true);
    CheckedRun s;
    auto first = kernel_node(AddAtomically{}, dim(size), s.x, 1);
    auto second = kernel_node(AddAtomically{}, dim(8), s.x.view().first(8), 2);
    if (has_edge) second.after(first);
    Graph graph = build({first, second});
    graph.launch(s.a);
    graph.launch(s.a);
    s.a.synchronize();
    if (has_edge) return s.checked.expect_silence();
    const check::Race race = s.checked.expect(RaceKind::write_after_write);
    CHECK_THAT(race.text, contains("in a graph"));
    CHECK(race.bytes == 8 * sizeof(int));
}

TEST_CASE("device: graph_launched_twice_on_two_streams, two_graphs_on_two_streams") {
    const bool is_other = GENERATE(false, true);
    CheckedStreams s;
    Graph one = fill_node(s.x, 1).build(), other = fill_node(s.x, 2).build();
    Checked checked;
    one.launch(s.a);
    wait_unseen(s.a);
    (is_other ? other : one).launch(s.b);
    if (is_other) checked.expect(RaceKind::write_after_write);
    else checked.expect_silence();
}

TEST_CASE("device: graph_against_plain_launch") {
    const bool waits = GENERATE(false, true);
    CheckedRun s;
    Graph graph = fill_node(s.x, 1).build();
    graph.launch(s.a);
    wait_unseen(s.a);
    if (waits) s.b.wait_stream(s.a);
    read(s.b, s.x, s.y);
    if (waits) s.checked.expect_silence();
    else s.checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: capture_is_not_run, captured_branch_not_joined_where_it_matters") {
    const bool joins = GENERATE(false, true);
    CheckedRun s;
    write(s.c, s.x);
    Graph graph = capture(s.a, [&] {
        s.b.wait_stream(s.a);
        launch(s.b, AddAtomically{}, dim(size), s.x, 1);
        if (joins) s.a.wait_stream(s.b);
        launch(s.a, AddToAtomically{}, dim(size), s.x, s.y);
        if (!joins) s.a.wait_stream(s.b);
    });
    CHECK(check::summary().certain == 0);
    s.a.wait_stream(s.c);
    graph.launch(s.a);
    if (joins) s.checked.expect_silence();
    else s.checked.expect(RaceKind::read_after_write);
    s.a.synchronize();
}

TEST_CASE("device: capture_over_fork_join") {
    CheckedRun s;
    Graph graph = capture(s.a, [&] {
        fork_join(
            s.a, [&] { write(current_stream(), s.x); }, [&] { write(current_stream(), s.y); });
        read(s.a, s.x, s.y);
    });
    graph.launch(s.a);
    s.checked.expect_silence();
}

TEST_CASE("device: event_record_node_orders_another_stream, and one before the write does not") {
    const bool is_early = GENERATE(false, true);
    CheckedRun s;
    Event event(s.a.device());
    auto write_node = fill_node(s.x, 1);
    auto record = record_node(event);
    if (is_early) write_node.after(record);
    else record.after(write_node);
    Graph graph = (is_early ? GraphNode(write_node) : GraphNode(record)).build();
    graph.launch(s.a);
    wait_unseen(s.a);
    s.b.wait_event(event);
    read(s.b, s.x, s.y);
    if (is_early) CHECK(s.checked.end().certain == 1);
    else s.checked.expect_silence();
}

TEST_CASE("device: node_parameters_updated") {
    CheckedRun s;
    auto node = fill_node(s.x, 1);
    Graph graph = node.build();
    graph.launch(s.a);
    s.a.synchronize();
    node.with(s.y, 1);
    graph.launch(s.a);
    wait_unseen(s.a);
    write(s.b, s.x);  // the graph no longer uses this array
    read(s.b, s.y, s.z);
    CHECK(s.checked.expect(RaceKind::read_after_write).data == s.y.data());
}

TEST_CASE("device: host nodes that declare what they use") {
    const bool waits = GENERATE(false, true);
    CheckedStreams s;
    Array<int> pin = pinned<int>(size);
    synchronize();
    Checked checked;
    auto node = host_node(signals_nothing([] {}), reads(pin));
    Graph graph = node.build();
    graph.launch(s.a);
    wait_unseen(s.a);
    if (waits) s.b.wait_stream(s.a);
    copy(s.b, pin, s.x);
    wait_unseen(s.b);
    if (!waits) return (void)checked.expect(RaceKind::write_after_read);
    node.call(signals_nothing([] {}), reads(s.y.view()));
    graph.launch(s.a);
    wait_unseen(s.a);
    copy(s.b, pin, s.x);  // the node no longer uses this array
    checked.expect_silence();
}

TEST_CASE("device: a host node refuses memory that is gone, and its array lives on for launches") {
    CheckedStreams s;
    View<int> gone;
    {
        Array<int> x = pinned<int>(size);
        gone = x;
    }
    CHECK_THROWS_AS(host_node([] {}, reads(gone)), UsageError);
    Array<int> kept = pinned<int>(size);
    Graph graph = host_node([] {}, writes(kept)).build();
    graph.launch(s.a);
    kept.reset();
    CHECK_THROWS_AS(graph.launch(s.a), UsageError);
}

TEST_CASE("device: graph_built_before_checking_began") {
    CheckedStreams s;
    Graph graph = fill_node(s.x, 1).build();
    graph.launch(s.a);
    s.a.synchronize();
    Checked checked;
    graph.launch(s.a);
    wait_unseen(s.a);
    read(s.b, s.x, s.y);
    CHECK(checked.end().certain <= 1);  // the node's accesses may be unknown to the checker
}

TEST_CASE("device: batch_as_without_it, batch_hides_a_race_by_its_join") {
    const bool waits = GENERATE(false, true);
    CheckedRun s;
    Batch batch({.on_cpu = true});
    {
        const ScopedBatch in(batch, s.a);
        launch(s.a, AddAtomically{}, dim(size), s.x, 1);
        s.b.wait_stream(s.a);
        launch(s.b, AddAtomically{}, dim(size), s.x, 1);
        if (waits) s.a.wait_stream(s.b);
        launch(s.a, AddAtomically{}, dim(size), s.x, 1);
    }
    if (waits) s.checked.expect_silence();
    else s.checked.expect(RaceKind::write_after_write);
    s.a.synchronize();
    s.b.synchronize();
}

TEST_CASE("device: dependent_launch, dependent_launch_against_a_third_stream") {
    const bool is_third = GENERATE(false, true);
    CheckedRun s;
    launch(s.a, Dependent{}, dim(size), s.x);
    launch_dependent(s.a, Dependent{}, dim(size), s.x);
    wait_unseen(s.a);
    if (is_third) write(s.b, s.x);
    if (is_third) s.checked.expect(RaceKind::write_after_write);
    else s.checked.expect_silence();
}

TEST_CASE("device: cpu_and_cuda_ordered_by_event, and the same without") {
    const bool waits = GENERATE(false, true);
    CheckedStreams s;
    const Stream host(cpu_device());
    Array<int> shared = pinned<int>(size);
    synchronize();
    Checked checked;
    copy(s.a, shared, s.x);
    const Event done = s.a.record_event();
    if (waits) host.wait_event(done);
    wait_unseen(s.a);
    copy(host, s.y.device().is_cpu() ? s.y.view() : shared.view().last(size / 2),
         s.y.device().is_cpu() ? shared.view() : shared.view().first(size / 2));
    wait_unseen(host);
    if (waits) checked.expect_silence();
    else CHECK(checked.end().certain >= 1);
}

TEST_CASE("device: peer_copy_both_sides, peer_copy_source_overwritten") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const bool waits = GENERATE(false, true);
    CheckedStreams s;
    const Stream other(test_devices()[1]);
    Array<int> there = zeros<int>(other, size);
    synchronize();
    Checked checked;
    copy(s.a, there, s.x);
    wait_unseen(s.a);
    if (waits) {
        s.b.wait_stream(s.a);
        other.wait_stream(s.a);
    }
    write(s.b, s.x);
    if (waits) {
        write(other, there);
        checked.expect_silence();
    } else {
        checked.expect(RaceKind::write_after_read);
    }
}

TEST_CASE("device: gradient_written_before_all_reduce_without_wait") {
    const bool waits = GENERATE(false, true);
    CheckedStreams s;
    DeviceGroup group(std::vector<Device>{s.x.device()});
    Array<float> gradient = zeros<float>(s.a, size), sum = zeros<float>(s.a, size);
    s.a.synchronize();
    Checked checked;
    fill(s.a, gradient, 1.0f);
    wait_unseen(s.a);
    {
        const ScopedStream in(s.b, {.wait_on_enter = false});
        if (waits) s.b.wait_stream(s.a);
        group.all_reduce(ReduceOp::sum, std::vector<View<const float>>{gradient},
                         std::vector<View<float>>{sum});
        s.b.synchronize();
    }
    if (waits) checked.expect_silence();
    else CHECK(checked.end().certain >= 1);
}

TEST_CASE("device: poisoned_stream_drops_work, work_after_clear_error") {
    CheckedStreams s;
    const Stream failing(cpu_device());
    Array<int> x = zeros<int>(failing, size);
    failing.synchronize();
    Checked checked;
    launch_host(failing, [] { throw std::runtime_error("on purpose"); });
    CHECK_THROWS_AS(failing.synchronize(), Error);
    const auto dropped = error_of([&] { launch(failing, Add{}, dim(size), x, 1); });
    failing.clear_error();
    write(failing, x);
    const Stream other(cpu_device());
    other.wait_stream(failing);
    write(other, x);
    checked.expect_silence();
}

TEST_CASE("device: eight_threads_own_streams_own_parts, threads_hand_over_by_queue_and_event") {
    const bool waits = GENERATE(false, true);
    CheckedStreams s;
    constexpr std::size_t threads = 8;
    std::vector<Stream> streams(threads);
    std::vector<Event> done(threads);
    Checked checked;
    on_threads(threads, [&](std::size_t i) {
        write(streams[i], s.x.view().subview(i * 8, 8));
        done[i] = streams[i].record_event();
    });
    for (std::size_t i = 0; i < threads; ++i)
        if (waits || i != 3) s.a.wait_event(done[i]);
    write(s.a, s.x);
    if (waits) return checked.expect_silence();
    CHECK(checked.expect(RaceKind::write_after_write).bytes == 8 * sizeof(int));
}
