// Virtual time passes only while all threads wait for each other. Each case runs in its own
// process, because the clock is replaced for the whole process.
#include "virtual_time.hpp"

#include "core/base/clock.hpp"
#include "virtual_case.hpp"

#include <future>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace heddle_test;
using std::chrono::hours;
using std::chrono::milliseconds;

namespace {

/// Yields to other threads, many times.
void keep_running() {
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
}

/// A thread. Its destructor joins it.
class Thread {
public:
    template <class F> explicit Thread(F&& f) : thread_(std::forward<F>(f)) {}
    ~Thread() { thread_.join(); }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

private:
    std::thread thread_;
};

}  // namespace

TEST_CASE("virtual: sleepers", "[.]") {
    virtual_time::begin();
    const OrderLog order;
    {
        std::vector<std::unique_ptr<Thread>> threads;
        for (const int ms : {30, 10, 20, 60'000})
            threads.push_back(std::make_unique<Thread>([=] {
                virtual_time::sleep(milliseconds(ms));
                order.add(std::to_string(virtual_time::now().count()));
            }));
    }
    CHECK(order.seen() == Strings{"10", "20", "30", "60000"});
}

TEST_CASE("virtual: a thread that runs", "[.]") {
    virtual_time::begin();
    const OrderLog order;
    const Thread sleeper([&] {
        virtual_time::sleep(virtual_time::step);
        order.add("slept");
    });
    keep_running();
    CHECK(virtual_time::now().count() == 0);
    order.add("ran");
    virtual_time::sleep(2 * virtual_time::step);
    CHECK(order.seen() == Strings{"ran", "slept"});
}

TEST_CASE("virtual: a thread that another one will wake", "[.]") {
    virtual_time::begin();
    const OrderLog order;
    std::promise<void> door, back;
    const Thread sleeper([&] {
        virtual_time::sleep(virtual_time::step);
        order.add("slept");
    });
    const Thread waiter([&] {
        door.get_future().wait();
        keep_running();
        order.add("passed");
        back.set_value();
    });
    keep_running();
    order.add("opened");
    door.set_value();
    back.get_future().wait();
    virtual_time::sleep(2 * virtual_time::step);
    CHECK(order.seen() == Strings{"opened", "passed", "slept"});
}

TEST_CASE("virtual: all threads wait", "[.]") {
    virtual_time::begin();
    std::promise<void> door;
    const Thread waiter([&] { door.get_future().wait(); });
    virtual_time::sleep(hours(1));
    CHECK(virtual_time::now() == hours(1));
    door.set_value();
}

TEST_CASE("virtual: a thread that sleeps for a real time", "[.]") {
    virtual_time::begin();
    const OrderLog order;
    const Thread real([&] {
        std::this_thread::sleep_for(milliseconds(30));
        order.add("real");
    });
    virtual_time::sleep(hours(1));
    order.add("virtual");
    CHECK(order.seen() == Strings{"real", "virtual"});
}

TEST_CASE("virtual: a wait that is ended early", "[.]") {
    virtual_time::begin();
    std::atomic<std::uint32_t> word{0};
    const Thread waker([&] {
        virtual_time::sleep(virtual_time::step);
        word = 1;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    });
    auto* const clock = detail::DecisionClock::current();
    REQUIRE(clock != nullptr);
    while (word == 0) clock->wait(word, 0, std::chrono::nanoseconds(hours(1)).count());
    CHECK(virtual_time::now() == virtual_time::step);
}

TEST_CASE("virtual: a jump", "[.]") {
    virtual_time::begin();
    milliseconds woken{0};
    {
        const Thread sleeper([&] {
            virtual_time::sleep(hours(1));
            woken = virtual_time::now();
        });
        virtual_time::sleep(virtual_time::step);
        virtual_time::jump(hours(2));
    }
    CHECK(woken == hours(2) + virtual_time::step);
}

TEST_CASE("virtual: the child of a fork", "[.]") {
    virtual_time::begin();
    const Thread sleeper([] { virtual_time::sleep(hours(1)); });
    virtual_time::sleep(virtual_time::step);
    const ChildResult child = run_forked([] {
        virtual_time::begin();
        const milliseconds before = virtual_time::now();
        virtual_time::sleep(hours(5));
        return virtual_time::now() - before == hours(5) ? 0 : 1;
    });
    CHECK(child.status == 0);
    CHECK(virtual_time::now() == virtual_time::step);  // waiting for a process counts as running
}

TEST_CASE("virtual time passes while all threads wait for each other or sleep") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: all threads wait");
}

TEST_CASE("who sleeps in virtual time is woken in the order of time, at that time") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: sleepers");
}

TEST_CASE("virtual time stands still while a thread runs, or will be woken by one that does") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a thread that runs");
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a thread that another one will wake");
}

TEST_CASE("virtual time stands still while a thread sleeps for a real time") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a thread that sleeps for a real time");
}

TEST_CASE("a wait in virtual time ends early when its word changes") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a wait that is ended early");
}

TEST_CASE("virtual time that jumps is over for whoever sleeps") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a jump");
}

TEST_CASE("the child of a fork has a virtual time of its own") {
    HEDDLE_SKIP_WITHOUT_FORK();
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: the child of a fork");
}
