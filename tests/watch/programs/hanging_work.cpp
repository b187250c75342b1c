// Programs with a kernel or host function that does not return.
#include <condition_variable>
#include <mutex>

#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

void kernel_of_one_index() {
    const Stream s = stream_named("solver");
    Array<float> x = zeros<float>(s, 1);
    launch(s, Forever{}, dim(1, here("culprit")), x, 0);
    print_hangs();
    s.synchronize(here("waits"));
}

void kernel_that_a_worker_runs() {
    const Stream s = stream_named("solver");
    Array<float> x = zeros<float>(s, 1);
    launch(s, Forever{}, dim(1, here("culprit")), x, 0);
    const Event done = s.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void one_index_of_many() {
    const Stream s = stream_named("solver");
    Array<float> x = zeros<float>(s, 100'000);
    launch(s, Increment{}, dim(100'000), x);
    launch(s, Forever{}, dim(100'000, here("culprit")), x, 77'777);
    print_hangs();
    static_cast<void>(to_host(s, x, here("waits")));
}

/// Waits until another kernel sets a word.
struct Spin {
    HEDDLE_FN void operator()(std::size_t, View<int> word) const {
        while (static_cast<volatile int&>(word[0]) == 0) virtual_time::sleep(virtual_time::step);
    }
};

void kernel_that_spins_for_a_later_one() {
    const Stream a = stream_named("a"), b = stream_named("b");
    Array<int> word = zeros<int>(a, 1);
    launch(a, Spin{}, dim(1, here("culprit")), word);
    b.wait_stream(a, here("waited"));
    fill(b, word, 1);
    const Event done = b.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void host_function_that_never_returns() {
    const Stream s = stream_named("io");
    launch_host(s, [] { never_return(); }, here("culprit"));
    launch_host(s, [] {});
    const Event done = s.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void host_function_and_a_mutex_of_its_waiter() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const Stream s = stream_named("io");
    const Door begun;
    launch_host(
        s,
        [begun] {
            begun.open();
            const std::lock_guard inner(mutex);
        },
        here("culprit"));
    begun.pass();
    print_hangs();
    s.synchronize(here("waits"));
}

void host_function_and_a_condition_variable() {
    static std::mutex mutex;
    static std::condition_variable changed;
    const Stream s = stream_named("io");
    Array<float> x = zeros<float>(s, 10);
    launch_host(
        s,
        [] {
            std::unique_lock lock(mutex);
            changed.wait(lock, [] { return false; });
        },
        here("culprit"));
    launch(s, Increment{}, dim(10), x);
    std::vector<float> pageable(10);
    print_hangs();
    copy(s, std::span<float>(pageable), x, here("waits"));
}

void completion_function_that_never_returns() {
    const Stream s = stream_named("io");
    on_completion(s, [](std::exception_ptr) { never_return(); }, here("culprit"));
    const Event done = s.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

/// Waits for the stream in a way that heddle does not see. heddle's own waits would run ready work.
void wait_elsewhere(const Stream& stream) {
    const Door done;
    launch_host(stream, [done] { done.open(); });
    print_hangs();
    done.pass();
}

void all_workers_in_host_functions() {
    static std::atomic<int> inside{0};
    const Door door;
    std::vector<Stream> streams;
    for (int i = 0; i < cpu_workers(); ++i) {
        streams.push_back(stream_named("waiting"));
        const auto wait = [door] {
            ++inside;
            door.pass();
        };
        launch_host(streams.back(), wait, here("culprit"));
    }
    while (inside != cpu_workers()) virtual_time::sleep(virtual_time::step);
    const Stream last = stream_named("last");
    launch_host(last, [door] { door.open(); }, here("ready"));
    wait_elsewhere(last);
}

void functions_that_wait_for_what_they_enqueue() {
    static std::atomic<int> inside{0};
    const Stream inner = stream_named("inner");
    std::vector<Stream> outer;
    for (int i = 0; i < cpu_workers(); ++i) {
        outer.push_back(stream_named("outer"));
        const auto enqueue_and_wait = [&inner] {
            ++inside;
            while (inside != cpu_workers()) virtual_time::sleep(virtual_time::step);
            const Door door;
            launch_host(inner, [door] { door.open(); }, here("ready"));
            door.pass();
        };
        launch_host(outer.back(), enqueue_and_wait, here("culprit"));
    }
    wait_elsewhere(outer.back());
}

}  // namespace

std::vector<HangingProgram> hanging_work() {
    const Strings kernel = {"the kernel ", "Forever at {culprit}", "has not ended"};
    const Strings function = {"the host function", "{culprit}", "has not returned"};
    const Strings workers = {"worker", "{culprit}"};
    return {
        {"kernel of one index", kernel_of_one_index, {kernel}, {}, {"'solver'", "{waits}"}},
        {"kernel that a worker runs",
         kernel_that_a_worker_runs,
         {kernel},
         {},
         {"'solver'", "{waits}"}},
        {"one index of many", one_index_of_many, {kernel}, {}, {"to_host", "{waits}"}},
        {"kernel that spins for a later one",
         kernel_that_spins_for_a_later_one,
         {{"the kernel ", "Spin at {culprit}", "has not ended"}},
         {},
         {"'b' waits for", "{waited}", "'a'", "{waits}"}},
        {"host function that never returns",
         host_function_that_never_returns,
         {function},
         {},
         {"'io'", "{waits}"}},
        {"host function and a mutex of its waiter",
         host_function_and_a_mutex_of_its_waiter,
         {function},
         {},
         {"synchronize", "{waits}"}},
        {"host function and a condition variable",
         host_function_and_a_condition_variable,
         {function},
         {},
         {"copy", "{waits}"}},
        {"completion function that never returns",
         completion_function_that_never_returns,
         {{"{culprit}", "has not returned"}},
         {},
         {"{waits}"}},
        {"all workers in host functions",
         all_workers_in_host_functions,
         {workers},
         {function},
         {"'last'", "{ready}"}},
        {"functions that wait for what they enqueue",
         functions_that_wait_for_what_they_enqueue,
         {workers},
         {function},
         {"'inner'", "{ready}"}},
    };
}

}  // namespace heddle_test
