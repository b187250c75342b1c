// Programs that hang in pools, pipelines and groups, or because of other processes.
#include <csignal>
#include <cstdlib>

#include <sys/prctl.h>
#include <unistd.h>

#include <heddle/by_data.hpp>

#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

void rank_that_does_not_come() {
    std::vector<Device> devices = {Device("cpu:0"), Device("cpu:1")};
    DeviceGroup group(devices);
    std::vector<Stream> streams;
    std::vector<Array<float>> parts;
    for (const Device d : devices) {
        streams.push_back(stream_named(d.index() == 0 ? "rank 0" : "rank 1", d));
        parts.push_back(full<float>(streams.back(), 1000, 1.0f));
    }
    Array<float> x = zeros<float>(streams[1], 1);
    launch(streams[1], Forever{}, dim(1, here("culprit")), x, 0);
    group.all_reduce(streams, ReduceOp::sum, parts, here("collective"));
    const Event done = streams[0].record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void pipeline_whose_slots_are_all_in_use() {
    const auto work = [](StreamRef s, View<const float> in, View<float> out) {
        copy(s, out, in);
        launch(s, Forever{}, dim(1, here("culprit")), out, 0);
    };
    Pipeline<float, float> pipeline(cpu_device(), work, {.depth = 3, .piece = 10});
    for (int i = 0; i < 3; ++i) {
        pipeline.acquire();
        pipeline.submit(10);
    }
    print_hangs();
    static_cast<void>(pipeline.pop(here("waits")));
}

void pipeline_that_waits_for_a_slot() {
    const auto work = [](StreamRef s, View<const float>) {
        launch_host(s, [] { never_return(); }, here("culprit"));
    };
    Pipeline<float> pipeline(cpu_device(), work, {.depth = 1, .piece = 10});
    pipeline.acquire();
    pipeline.submit(10);
    print_hangs();
    pipeline.acquire(here("waits"));
}

void ordered_by_data() {
    DataOrder order(cpu_device());
    Array<float> x = zeros<float>(order, 1), y = zeros<float>(order, 1);
    launch(order, Forever{}, dim(1, here("culprit")), x, 0);
    copy(order, y, x, here("copied"));
    launch(order, Increment{}, dim(1), y);
    print_hangs();
    static_cast<void>(to_host(order, y, here("waits")));
}

void branch_of_a_fork_join() {
    const Stream s = stream_named("base");
    Array<float> x = zeros<float>(s, 1), y = zeros<float>(s, 1);
    fork_join(
        detail::ForkBase(s, here("forked")),
        [&](StreamRef branch) { launch(branch, Increment{}, dim(1), x); },
        [&](StreamRef branch) { launch(branch, Forever{}, dim(1, here("culprit")), y, 0); });
    launch(s, Increment{}, dim(1), x);
    print_hangs();
    s.synchronize(here("waits"));
}

/// Another process, with which this process shares an event. The other process ends with this one.
struct OtherProcess {
    EventHandle handle;
    pid_t id = 0;

    /// Forks. The child exports an event. It records the event after a function that never returns.
    OtherProcess() {
        int pipe_ends[2];
        if (pipe(pipe_ends) != 0) std::abort();
        id = fork();
        if (id == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            unsetenv("HEDDLE_WATCH");  // so that the child makes no reports
            for (const int output : {STDOUT_FILENO, STDERR_FILENO}) close(output);
            const Stream s = stream_named("exporter");
            Event shared(cpu_device(), {.interprocess = true});
            launch_host(s, [] { never_return(); });
            shared.record(s);
            const EventHandle mine = export_event(shared);
            if (write(pipe_ends[1], &mine, sizeof mine) < 0) std::abort();
            never_return();
        }
        handle = read_handle(pipe_ends[0]);
        print_mark("other", std::to_string(id));
    }
};

void wait_for_a_shared_event(const OtherProcess& other) {
    const Stream copies = stream_named("copies");
    const Event theirs = import_event(other.handle);
    copies.wait_event(theirs, here("waited"));
    launch_host(copies, [] {});
    const Event done = copies.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void event_of_a_process_that_is_stuck() { wait_for_a_shared_event(OtherProcess()); }

void event_of_a_process_that_is_stopped() {
    const OtherProcess other;
    kill(other.id, SIGSTOP);
    wait_for_a_shared_event(other);
}

void thread_and_a_shared_event() {
    const OtherProcess other;
    const Event theirs = import_event(other.handle);
    print_hangs();
    theirs.synchronize(here("waits"));
}

}  // namespace

std::vector<HangingProgram> hanging_together() {
    const Strings kernel = {"the kernel ", "Forever at {culprit}", "has not ended"};
    const Strings function = {"the host function", "{culprit}", "has not returned"};
    const Strings process = {"process {other}"};
    return {
        {"rank that does not come",
         rank_that_does_not_come,
         {kernel, {"rank 1", "{collective}", "'rank 1'"}},
         {},
         {"{collective}", "'rank 1'", "'rank 0' waits for", "{waits}"}},
        {"pipeline whose slots are all in use",
         pipeline_whose_slots_are_all_in_use,
         {kernel},
         {},
         {"'pipeline: work'", "{waits}"}},
        {"pipeline that waits for a slot",
         pipeline_that_waits_for_a_slot,
         {function},
         {},
         {"'pipeline: work'", "{waits}"}},
        {"ordered by data", ordered_by_data, {kernel}, {}, {"to_host", "{waits}"}},
        {"branch of a fork_join",
         branch_of_a_fork_join,
         {kernel},
         {},
         {"'base' waits for", "{forked}", "{waits}"}},
        {"event of a process that is stuck",
         event_of_a_process_that_is_stuck,
         {process},
         {},
         {"'copies' waits for", "{waited}", "{waits}"}},
        {"event of a process that is stopped",
         event_of_a_process_that_is_stopped,
         {process},
         {},
         {"'copies' waits for", "{waited}", "{waits}"}},
        {"thread and a shared event", thread_and_a_shared_event, {process}, {}, {"{waits}"}},
    };
}

}  // namespace heddle_test
