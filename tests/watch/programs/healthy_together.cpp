// Long programs that use pools, pipelines, groups, DataOrder and other processes.
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include <heddle/by_data.hpp>
#include <heddle/observe/timeline.hpp>

#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

const auto slow_work = [](StreamRef s, View<const float> in, View<float> out) {
    copy(s, out, in);
    launch_host(s, sleep_a_while);
};

void pipeline_with_slow_work() {
    int left = long_row;
    overlap<float, float>(
        cpu_device(), [&](std::span<float>) { return left-- > 0 ? 10 : 0; }, slow_work,
        [](std::span<const float>) {}, {.depth = 3, .piece = 10});
}

void pipeline_that_is_read_slowly() {
    int left = long_row;
    const auto read = [&](std::span<float>) {
        sleep_a_while();
        return left-- > 0 ? 10 : 0;
    };
    overlap<float, float>(
        cpu_device(), read,
        [](StreamRef s, View<const float> in, View<float> out) { copy(s, out, in); },
        [](std::span<const float>) {}, {.depth = 3, .piece = 10});
}

void pipeline_whose_results_are_not_taken() {
    Pipeline<float, float> pipeline(cpu_device(), slow_work, {.depth = 3, .piece = 10});
    for (int i = 0; i < 3; ++i) {
        pipeline.acquire();
        pipeline.submit(10);
    }
    sleep_for_long();
    pipeline.finish();
}

void ordered_by_data() {
    DataOrder order(cpu_device());
    Array<float> x = zeros<float>(order, 1), y = zeros<float>(order, 1);
    for (int i = 0; i < long_row; ++i) {
        launch(order, Sleep{}, dim(1), x);
        copy(order, y, x);
        launch(order, Sleep{}, dim(1), y);
    }
    static_cast<void>(to_host(order, y));
}

void fork_joins() {
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i)
        fork_join(s, [] { launch_host(sleep_a_while); }, [] { launch_host(sleep_a_while); });
    s.synchronize();
}

void fork_joins_of_many() {
    const Stream s = stream_named("s");
    const auto some = static_cast<std::size_t>(long_row * cpu_workers());
    fork_join_n(s, some, [](std::size_t) { launch_host(sleep_a_while); }, {.streams = 16});
    s.record_event().synchronize();
}

void leases_of_a_pool() {
    StreamPool pool(cpu_device(), {.max_streams = 4});
    repeat_for_long([&] {
        const StreamPool::Lease lease = pool.lease();
        launch_host(lease, sleep_a_while);
        lease.synchronize();
    });
}

void collectives_with_a_slow_rank() {
    DeviceGroup group({Device("cpu:0"), Device("cpu:1")});
    std::vector<Stream> streams;
    std::vector<Array<float>> parts;
    for (const int i : {0, 1}) {
        streams.push_back(stream_named("rank", Device(DeviceKind::cpu, i)));
        parts.push_back(full<float>(streams.back(), 1000, 1.0f));
    }
    for (int i = 0; i < long_row; ++i) {
        launch_host(streams[1], sleep_a_while);
        group.all_reduce(streams, ReduceOp::sum, parts);
    }
    streams[0].synchronize();
}

void events_of_another_process() {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) virtual_time::begin();
    const Stream s = stream_named("s");
    if (child == 0) {
        Event shared(cpu_device(), {.interprocess = true});
        for (int i = 0; i < long_row; ++i) launch_host(s, sleep_a_while);
        shared.record(s);
        const EventHandle handle = export_event(shared);
        if (write(ends[1], &handle, sizeof handle) < 0) std::abort();
        s.synchronize();
        _exit(0);
    }
    const Event theirs = import_event(read_handle(ends[0]));
    // The watch cannot see progress of other processes. So this process does work between polls.
    while (!theirs.is_complete()) {
        launch_host(s, sleep_a_while);
        s.synchronize();
    }
    s.wait_event(theirs);
    s.synchronize();
    waitpid(child, nullptr, 0);
}

void recording_of_a_timeline() {
    timeline::Recording recording;
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i) launch_host(s, sleep_a_while);
    s.synchronize();
    recording.stop();
}

void end_with_work_that_is_pending() {
    static const Stream s = stream_named("s");
    for (int i = 0; i < 1000; ++i) launch_host(s, sleep_a_while);
    sleep_for_long();
    std::exit(0);
}

}  // namespace

std::vector<HealthyProgram> healthy_together() {
    return {
        {"pipeline with slow work", pipeline_with_slow_work},
        {"pipeline that is read slowly", pipeline_that_is_read_slowly},
        {"pipeline whose results are not taken", pipeline_whose_results_are_not_taken},
        {"ordered by data", ordered_by_data},
        {"fork_joins", fork_joins},
        {"fork_joins of many", fork_joins_of_many},
        {"leases of a pool", leases_of_a_pool},
        {"collectives with a slow rank", collectives_with_a_slow_rank},
        {"events of another process", events_of_another_process},
        {"recording of a timeline", recording_of_a_timeline},
        {"end with work that is pending", end_with_work_that_is_pending},
    };
}

}  // namespace heddle_test
