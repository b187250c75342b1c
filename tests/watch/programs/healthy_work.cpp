// Long programs in which all kernels and host functions return.
#include <mutex>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

/// Sleeps for a step of time at each index.
struct ManySteps {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const {
        virtual_time::sleep(virtual_time::step);
        x[i] += 1;
    }
};

void long_kernels() {
    const Stream s = stream_named("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < long_row; ++i) launch(s, Sleep{}, dim(1), x);
    s.synchronize();
}

void long_kernels_that_are_polled() {
    const Stream s = stream_named("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < long_row; ++i) launch(s, Sleep{}, dim(1), x);
    while (!s.is_complete()) virtual_time::sleep(virtual_time::step);
}

void kernels_of_many_indices() {
    const Stream s = stream_named("s");
    Array<float> x = zeros<float>(s, 10);
    repeat_for_long([&] {
        launch(s, ManySteps{}, dim(10), x);
        s.synchronize();
    });
}

void host_functions() {
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i) launch_host(s, sleep_a_while);
    s.synchronize();
}

void host_functions_that_enqueue_the_next_one() {
    static const Stream s = stream_named("s");
    static const Door is_over;
    static void (*step)(int) = [](int left) {
        sleep_a_while();
        if (left == 0) is_over.open();
        else launch_host(s, [left] { step(left - 1); });
    };
    step(long_row);
    is_over.pass();
    s.synchronize();
}

void short_kernels() {
    const Stream s = stream_named("s");
    Array<float> x = zeros<float>(s, 10);
    repeat_for_long([&] {
        for (int i = 0; i < 100; ++i) launch(s, Increment{}, dim(10), x);
        launch(s, Sleep{}, dim(1), x);
        for (int i = 0; i < 100; ++i) launch(s, Increment{}, dim(10), x);
        s.synchronize();
    });
}

void more_streams_than_workers() {
    std::vector<Stream> streams;
    for (int i = 0; i < long_row * cpu_workers(); ++i) {
        streams.push_back(stream_named("one of many"));
        launch_host(streams.back(), sleep_a_while);
    }
    synchronize_device(cpu_device());
}

void completion_functions() {
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i)
        on_completion(s, [](std::exception_ptr) { sleep_a_while(); });
    s.record_event().synchronize();
}

void copies_and_fills() {
    const Stream s = stream_named("s");
    Array<float> x = zeros<float>(s, 100'000), y = zeros<float>(s, 100'000);
    std::vector<float> pageable(100'000);
    repeat_for_long([&] {
        fill(s, x, 1.0f);
        launch_host(s, sleep_a_while);
        copy(s, y, x);
        copy(s, std::span<float>(pageable), y);
    });
}

void arrays_that_are_freed_in_use() {
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i) {
        Array<float> x = zeros<float>(s, 1000);
        launch(s, Sleep{}, dim(1), x);
    }
    s.synchronize();
}

void failures_that_are_cleared() {
    const Stream s = stream_named("s");
    repeat_for_long([&] {
        launch_host(s, sleep_a_while);
        launch_host(s, [] { throw Boom("meant"); });
        launch_host(s, sleep_a_while);  // this work is dropped
        static_cast<void>(s.clear_error());
    });
}

void stream_that_stays_poisoned() {
    const Stream s = stream_named("s"), t = stream_named("t");
    poison(s);
    t.wait_stream(s);
    launch_host(t, sleep_a_while);
    sleep_for_long();
    static_cast<void>(s.clear_error());
    static_cast<void>(t.clear_error());
}

void functions_and_a_mutex() {
    static std::mutex mutex;
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i) {
        std::unique_lock lock(mutex);
        launch_host(s, [] { const std::lock_guard inner(mutex); });
        sleep_a_while();
        lock.unlock();
        s.synchronize();
    }
}

void process_that_is_stopped_for_a_while() {
    const Stream s = stream_named("s");
    const Door door;
    launch_host(s, [door] { door.pass(); });
    std::thread other([door] {
        constexpr auto until_a_look = 2 * operation_time;
        virtual_time::sleep(until_a_look);
        virtual_time::jump(long_time);
        virtual_time::sleep(until_a_look);
        door.open();
    });
    s.synchronize();
    other.join();
}

void child_process_that_works() {
    const pid_t child = fork();
    if (child == 0) virtual_time::begin();
    const Stream s = stream_named("s");
    launch_host(s, [] {});
    s.synchronize();
    if (child == 0) {
        long_kernels();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

}  // namespace

std::vector<HealthyProgram> healthy_work() {
    return {
        {"long kernels", long_kernels},
        {"long kernels and a check", long_kernels, {"HEDDLE_CHECK=1"}},
        {"long kernels that are polled", long_kernels_that_are_polled},
        {"kernels of many indices", kernels_of_many_indices},
        {"host functions", host_functions},
        {"host functions that enqueue the next one", host_functions_that_enqueue_the_next_one},
        {"short kernels", short_kernels},
        {"more streams than workers", more_streams_than_workers},
        {"completion functions", completion_functions},
        {"copies and fills", copies_and_fills},
        {"arrays that are freed in use", arrays_that_are_freed_in_use},
        {"failures that are cleared", failures_that_are_cleared},
        {"stream that stays poisoned", stream_that_stays_poisoned},
        {"functions and a mutex", functions_and_a_mutex},
        {"process that is stopped for a while", process_that_is_stopped_for_a_while},
        {"child process that works", child_process_that_works},
    };
}

}  // namespace heddle_test
