// Programs that hang because streams, events and threads wait for each other.
#include <atomic>
#include <thread>
#include <vector>

#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

void launch_forever(const Stream& s) {
    static Array<float> x = zeros<float>(s, 1);
    launch(s, Forever{}, dim(1, here("culprit")), x, 0);
}

void event_that_is_not_reached() {
    const Stream solver = stream_named("solver"), copies = stream_named("copies");
    launch_forever(solver);
    for (int i = 0; i < 2; ++i) launch_host(solver, [] {});
    const Event filled = solver.record_event({}, here("recorded"));
    copies.wait_event(filled, here("waited"));
    launch_host(copies, [] {});
    print_hangs();
    copies.synchronize(here("waits"));
}

void event_that_is_recorded_again() {
    const Stream solver = stream_named("solver"), copies = stream_named("copies");
    Event filled(cpu_device());
    for (int i = 0; i < 2; ++i) filled.record(solver);
    copies.wait_event(filled);
    copies.synchronize();
    launch_forever(solver);
    filled.record(solver, here("recorded"));
    copies.wait_event(filled, here("waited"));
    launch_host(copies, [] {});
    const Event done = copies.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void chain_of_streams() {
    const Stream a = stream_named("a"), b = stream_named("b"), c = stream_named("c"),
                 d = stream_named("d");
    launch_forever(a);
    b.wait_stream(a, here("b waits"));
    launch_host(b, [] {});
    c.wait_stream(b, here("c waits"));
    launch_host(c, [] {});
    d.wait_stream(c, here("d waits"));
    launch_host(d, [] {});
    print_hangs();
    synchronize_device(cpu_device(), here("waits"));
}

void two_devices() {
    const Stream a = stream_named("a"), b = stream_named("b", Device("cpu:1"));
    launch_forever(a);
    b.wait_stream(a, here("waited"));
    launch_host(b, [] {});
    print_hangs();
    synchronize_device(Device("cpu:1"), here("waits"));
}

void cycle_of_two_streams() {
    const Door door;
    const Stream a = stream_named("a"), b = stream_named("b");
    launch_host(a, [door] { door.pass(); }, here("culprit"));
    b.wait_stream(a, here("b waits"));
    launch_host(b, [door] { door.open(); });
    const Event done = b.record_event();
    print_hangs();
    done.synchronize(here("waits"));
}

void cycle_of_three_streams() {
    const Door door;
    const Stream a = stream_named("a"), b = stream_named("b"), c = stream_named("c");
    launch_host(a, [door] { door.pass(); }, here("culprit"));
    b.wait_stream(a, here("b waits"));
    launch_host(b, [] {});
    const Event done = b.record_event();
    c.wait_event(done, here("c waits"));
    launch_host(c, [door] { door.open(); });
    print_hangs();
    c.synchronize(here("waits"));
}

void two_threads_that_wait_for_each_others_stream() {
    const Door first, second;
    const Stream a = stream_named("a"), b = stream_named("b");
    launch_host(a, [second] { second.pass(); }, here("in a"));
    launch_host(b, [first] { first.pass(); }, here("in b"));
    std::thread other([&] {
        b.synchronize(here("other waits"));
        second.open();
    });
    print_hangs();
    a.synchronize(here("waits"));
    first.open();
    other.join();
}

void two_threads_and_two_mutexes() {
    static std::mutex mutex_a, mutex_b;
    const std::lock_guard lock(mutex_a);
    const Stream a = stream_named("a"), b = stream_named("b");
    const Door is_locked;
    std::thread other([&] {
        const std::lock_guard other_lock(mutex_b);
        launch_host(b, [] { const std::lock_guard inner(mutex_a); }, here("in b"));
        const Event done = b.record_event();
        is_locked.open();
        done.synchronize(here("other waits"));
    });
    is_locked.pass();
    launch_host(a, [] { const std::lock_guard inner(mutex_b); }, here("in a"));
    const Event done = a.record_event();
    print_hangs();
    done.synchronize(here("waits"));
    other.join();
}

// The host must not wait for `bulk`, or the host would run the work. It waits for `held` instead.
void starved_by_urgent_work() {
    static std::atomic<bool> is_inside{false};
    const Door door;
    const Stream held = stream_named("held");
    const auto wait = [door] {
        is_inside = true;
        door.pass();
    };
    launch_host(held, wait, here("culprit"));
    while (!is_inside) virtual_time::sleep(virtual_time::step);
    static std::vector<Stream> urgent;
    static void (*again)(std::size_t) = [](std::size_t i) {
        virtual_time::sleep(virtual_time::step);
        launch_host(urgent[i], [i] { again(i); });
    };
    for (std::size_t i = 0; i < 3 * static_cast<std::size_t>(cpu_workers()); ++i)
        urgent.push_back(stream_named("urgent", cpu_device(), -1));
    for (std::size_t i = 0; i < urgent.size(); ++i) launch_host(urgent[i], [i] { again(i); });
    const Stream bulk = stream_named("bulk");
    launch_host(bulk, [door] { door.open(); }, here("starved"));
    print_hangs();
    held.synchronize(here("waits"));
}

}  // namespace

std::vector<HangingProgram> hanging_order() {
    const Strings kernel = {"the kernel ", "Forever at {culprit}", "has not ended"};
    const Strings function = {"the host function", "{culprit}", "has not returned"};
    const Strings in_a = {"the host function", "{in a}", "has not returned"};
    const Strings in_b = {"the host function", "{in b}", "has not returned"};
    return {
        {"event that is not reached",
         event_that_is_not_reached,
         {kernel},
         {},
         {"'copies' waits for", "record 1", "{waited}", "'solver'", "more operations", "{waits}"}},
        {"event that is recorded again",
         event_that_is_recorded_again,
         {kernel},
         {},
         {"'copies' waits for", "record 3", "{waited}", "'solver'", "{waits}"}},
        {"chain of streams",
         chain_of_streams,
         {kernel},
         {},
         {"'b' waits for", "{b waits}", "'c' waits for", "{c waits}", "'d' waits for", "{d waits}",
          "{waits}"}},
        {"two devices",
         two_devices,
         {kernel},
         {},
         {"cpu:0", "cpu:1", "'b' waits for", "{waited}", "{waits}"}},
        {"cycle of two streams",
         cycle_of_two_streams,
         {function},
         {{"worker", "{culprit}"}},
         {"'b' waits for", "{b waits}", "'a'", "{waits}"}},
        {"cycle of three streams",
         cycle_of_three_streams,
         {function},
         {{"worker", "{culprit}"}},
         {"'b' waits for", "{b waits}", "'c' waits for", "{c waits}", "{waits}"}},
        {"two threads that wait for each other's stream",
         two_threads_that_wait_for_each_others_stream,
         {in_a, in_b},
         {},
         {"'a'", "{waits}", "'b'", "{other waits}"}},
        {"two threads and two mutexes",
         two_threads_and_two_mutexes,
         {in_b},
         {in_a, {"worker", "{in b}"}},
         {"'a'", "{waits}", "'b'", "{other waits}"}},
        {"starved by urgent work",
         starved_by_urgent_work,
         {{"worker", "'bulk'"}},
         {{"the host function", "{culprit}", "has not returned"}},
         {"{starved}", "{waits}"}},
    };
}

}  // namespace heddle_test
