// Streams with the same priority take turns. A turn is limited by the time that operations take.
#include <atomic>
#include <deque>
#include <optional>
#include <thread>

#include "core/base/clock.hpp"
#include "cpu/executor/slice.hpp"
#include "cpu/workers.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

/// A clock that advances only when the test sets it.
class SetClock final : public detail::DecisionClock {
public:
    std::int64_t now_ns() noexcept override { return now.load(); }
    void wait(std::atomic<std::uint32_t>&, std::uint32_t, std::int64_t) noexcept override {
        std::this_thread::yield();
    }
    std::int64_t spin_ns(std::int64_t) noexcept override { return 0; }

    std::atomic<std::int64_t> now{0};
};
SetClock set_clock;

using Enqueue = void (*)(const Stream& bulk, std::int64_t ns, std::atomic<int>& ran);
constexpr int many = 2000;

/// One worker runs the operations of `streams` busy streams. Returns how many it runs before those
/// of another stream, which becomes ready last.
int run_before(Enqueue enqueue, int streams, std::int64_t ns) {
    const Drained drained;
    std::atomic<int> ran{0};
    std::deque<Stream> bulk;
    const Stream small(cpu_device());
    const Flag done;
    int before = -1;
    std::optional<HeldWorkers> workers(std::in_place);
    for (int i = 0; i < streams; ++i) enqueue(bulk.emplace_back(cpu_device()), ns, ran);
    launch_host(small, [&] {
        before = ran;
        done.set();
    });
    workers->open_one();
    CHECK(done.wait());
    workers.reset();
    synchronize_device(cpu_device());
    CHECK(ran == many * streams);
    return before;
}

void add_host_functions(const Stream& bulk, std::int64_t ns, std::atomic<int>& ran) {
    for (int i = 0; i < many; ++i)
        launch_host(bulk, [ns, &ran] {
            set_clock.now += ns;
            ++ran;
        });
}

void add_graph(const Stream& bulk, std::int64_t ns, std::atomic<int>& ran) {
    const auto step = [ns, &ran] {
        set_clock.now += ns;
        ++ran;
    };
    capture(bulk, [&] {
        for (int i = 0; i < many; ++i) launch_host(bulk, step);
    }).launch(bulk);
}

}  // namespace

TEST_CASE("child: streams of one priority", "[.child]") {
    detail::DecisionClock::set(&set_clock);
    constexpr std::int64_t slice = detail::cpu::Slice::ns;
    for (const Enqueue enqueue : {&add_host_functions, &add_graph}) {
        // The operation that runs when a slice ends is the last one of that slice.
        CHECK(run_before(enqueue, 1, 2 * slice) == 1);
        CHECK(run_before(enqueue, 1, slice / 10) == 10);
        CHECK(run_before(enqueue, 3, 2 * slice) == 3);
        CHECK(run_before(enqueue, 3, slice / 10) == 30);
        // If operations take no time, the worker stays with their stream.
        CHECK(run_before(enqueue, 1, 0) == many);
    }
}
TEST_CASE("a stream waits for a slice, or an operation, of each other one of its priority",
          "[cpu]") {
    check_with_workers("child: streams of one priority");
}
