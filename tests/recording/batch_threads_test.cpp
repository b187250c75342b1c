// Batches, while other threads query, wait for and enqueue on the same streams. Recorded work keeps
// the order of eager code.
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

using namespace heddle_test;

namespace {

/// Returns a batch that records on CPU devices, too.
Batch recorded() { return Batch({.on_cpu = true}); }

/// Calls a function again and again on its own thread, until the object is destroyed.
template <class F> class Meanwhile {
public:
    explicit Meanwhile(F function)
        : thread_([this, function] {
              while (!stop_.load()) function();
          }) {}
    ~Meanwhile() {
        stop_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

struct Store {
    HEDDLE_FN void operator()(std::size_t i, int value, View<int> x) const { x[i] = value; }
};

}  // namespace

TEST_CASE("what is recorded for a stream keeps its order while another thread asks whether it is "
          "complete") {
    const Here here;
    const Drained drained;
    Batch step = recorded();
    long next = 0, wrong = 0, enqueued = 0;
    {
        const Meanwhile monitor([&] { (void)here.stream.is_complete(); });
        for (std::size_t round = 0; round < repetitions(1000, 50); ++round) {
            step.run([&] {
                for (int i = 0; i < 50; ++i)
                    launch_host([&, number = enqueued++] {
                        if (number != next) ++wrong;
                        next = number + 1;
                    });
            });
            here.stream.synchronize();
        }
    }
    here.stream.synchronize();
    CHECK(wrong == 0);
    CHECK(next == enqueued);
}

TEST_CASE(
    "who was told of a launch in a batch waits for it, with a stream, an event or on the host") {
    const Drained drained;
    int missed = 0;
    for (int round = 0; round < 30; ++round) {
        const Stream origin(test_device()), side(test_device()), other(test_device());
        Array<int> x = zeros<int>(origin, 1), y = zeros<int>(origin, 1),
                   seen = zeros<int>(origin, 1);
        origin.synchronize();
        Event event(test_device());
        const Flag launched;
        std::thread told([&] {
            launched.wait();
            for (int i = 0; i < round * 1000; ++i)
                std::atomic_signal_fence(std::memory_order_seq_cst);
            if (round % 3 == 0) side.synchronize();
            else if (round % 3 == 1) other.wait_event(event);
            else other.wait_stream(side);
            copy(other, seen, x);
            other.synchronize();
        });
        {
            Batch step = recorded();
            const ScopedStream in(origin);
            const ScopedBatch batch(step);
            side.wait_stream(origin);
            launch(side, Store{}, dim(1), 1, x);
            side.record_event(event);
            for (std::size_t i = 0; i < repetitions(5000, 500); ++i)
                launch(origin, Store{}, dim(1), 2, y);
            origin.wait_stream(side);
            launched.set();
        }
        told.join();
        missed += to_host(other, seen)[0] != 1;
    }
    CHECK(missed == 0);
}

TEST_CASE("two threads with a batch each never run the work of one stream side by side") {
    const Drained drained;
    const Stream shared(cpu_device());
    std::atomic<int> inside{0}, beside{0};
    std::atomic<int> ran{0};
    const auto work = [&] {
        if (inside.fetch_add(1) != 0) ++beside;
        ++ran;
        inside.fetch_sub(1);
    };
    constexpr int rounds = 2000;
    const auto use = [&] {
        const Stream own(cpu_device());
        Batch step = recorded();
        for (int i = 0; i < rounds; ++i) {
            const ScopedBatch batch(step, own);
            shared.wait_stream(own);
            launch_host(shared, work);
            own.wait_stream(shared);
        }
        own.synchronize();
    };
    std::thread first(use), second(use);
    first.join();
    second.join();
    shared.synchronize();
    CHECK(beside == 0);
    CHECK(ran == 2 * rounds);
}

TEST_CASE("a batch may be sent by another thread's wait at the moment its own thread ends it") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, 1);
    const Meanwhile waits([&] { b.wait_stream(a); });
    Batch step = recorded();
    int expected = 0;
    for (std::size_t round = 0; round < repetitions(2000, 200); ++round) {
        const ScopedBatch batch(step, a);
        launch(a, Add{}, dim(1), x, static_cast<int>(round));
        expected += static_cast<int>(round);
    }
    CHECK(to_host(a, x)[0] == expected);
}

TEST_CASE("an event recorded in a batch that another thread is sending just now is waited for") {
    const Drained drained;
    const Stream a(test_device()), b(test_device()), c(test_device());
    Array<int> x = zeros<int>(a, 1), out = pinned<int>(1);
    int wrong = 0;
    {
        Batch step = recorded();
        const ScopedBatch batch(step, a);
        const Meanwhile waits([&] { b.wait_stream(a); });
        for (int i = 1; i < static_cast<int>(repetitions(2000, 200)); ++i) {
            launch(a, Store{}, dim(1), i, x);
            const Event event = a.record_event();
            c.wait_event(event);
            copy(c, out, x);
            a.wait_stream(c);
            c.synchronize();
            wrong += out[0] != i;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("memory that only a branch of a batch used is freed when the batch has been sent") {
    const Here here;
    const Drained drained;
    constexpr std::size_t n = 1 << 16;
    Array<int> seen = zeros<int>(n), kept;
    Batch step = recorded();
    step.run([&] {
        Array<int> x = pinned<int>(n);  // newly allocated host memory has no users
        std::fill(x.begin(), x.end(), 7);
        fork_join([&] { copy(current_stream(), seen, x); });
        x.reset();
        kept = pinned<int>(n);  // if x were freed early, this would get its memory
        std::fill(kept.begin(), kept.end(), 99);
    });
    CHECK(to_host(seen) == Ints(n, 7));
}

TEST_CASE("memory that a stream used which is gone by the end of the batch is freed when the batch "
          "has been sent") {
    const Here here;
    const Drained drained;
    constexpr std::size_t n = 1 << 16;
    Array<int> seen = zeros<int>(n), kept;
    Batch step = recorded();
    step.run([&] {
        Array<int> x = pinned<int>(n);
        std::fill(x.begin(), x.end(), 7);
        {
            const Stream gone(test_device());
            gone.wait_stream(here.stream);
            copy(gone, seen, x);
            here.stream.wait_stream(gone);
        }
        x.reset();
        kept = pinned<int>(n);
        std::fill(kept.begin(), kept.end(), 99);
    });
    CHECK(to_host(seen) == Ints(n, 7));
}

TEST_CASE("an array that a branch of an open batch uses is read after the batch has been sent") {
    const Drained drained;
    const Stream a(test_device()), home(test_device());
    Array<int> x = ready_full<int>(home, 1000, 1);
    const ScopedStream in(a);
    Batch step = recorded();
    const ScopedBatch batch(step);
    fork_join([&] { launch(Add{}, dim(1000), x, 5); });
    const ScopedStream back(home, {.wait_on_enter = false});
    CHECK(to_host(x) == Ints(1000, 6));
}

TEST_CASE("a batch with a closure larger than its memory's pieces runs with the newest arguments") {
    if (test_device().is_cuda())
        HEDDLE_SKIP(
            "kernels of GPUs have smaller arguments, and host functions do not write there");
    const Here here;
    Array<int> x = zeros<int>(16), y = zeros<int>(16);
    Batch small = recorded(), large = recorded();
    std::array<int, 10000> table{};
    for (int round = 1; round <= 6; ++round) {
        small.run([&] { launch(Store{}, dim(16), 5, y); });
        table.fill(round);
        large.run([&] {
            launch_host([table, to = x.data()] { std::copy_n(table.begin() + 9000, 16, to); });
        });
        here.stream.synchronize();
        CHECK(to_host(x) == Ints(16, round));
    }
}

TEST_CASE(
    "a stream in a record that was ordered before a batch does not overtake its own earlier work") {
    const Drained drained;
    const Stream origin(test_device());
    Batch step = recorded();
    Array<int> x = zeros<int>(origin, 1), out = zeros<int>(origin, 1);
    origin.synchronize();
    const void* record = nullptr;
    {
        const Stream first(test_device());
        record = &detail::Access::state(first);
        launch(first, Store{}, dim(1), 0, out);
        first.synchronize();
        {
            const ScopedBatch batch(step, origin);
            first.wait_stream(origin);
            launch(first, Store{}, dim(1), 1, out);
            origin.wait_stream(first);
        }
        first.synchronize();
    }
    Stream second(test_device());
    for (int made = 1; &detail::Access::state(second) != record && made < 200000; ++made)
        second = Stream(test_device());
    if (&detail::Access::state(second) != record)
        HEDDLE_SKIP("the record did not become another stream");
    Gate gate;
    gate.hold(second);                      // one submission, like first.wait_stream(origin)
    launch(second, Store{}, dim(1), 7, x);  // a second submission
    {
        const ScopedBatch batch(step, origin);
        second.wait_stream(origin);
        copy(second, out, x);
        origin.wait_stream(second);
    }
    gate.open();
    second.synchronize();
    CHECK(to_host(second, out)[0] == 7);
}

TEST_CASE("a graph with memory of its own, launched on a stream of a batch, comes before what "
          "waits for the "
          "stream") {
    const Drained drained;
    const Stream capturing(test_device()), other(test_device()), late(test_device());
    const StreamRef first = default_stream(test_device());
    Array<int> x = zeros<int>(first, 1), out = zeros<int>(first, 1);
    first.synchronize();
    Graph graph = capture(capturing, [&] {
        const Array<int> scratch = zeros<int>(capturing, 10);
        launch(capturing, Store{}, dim(1), 7, x);
    });
    Gate gate(other);
    {
        Batch step = recorded();
        const ScopedBatch batch(step, first);
        launch(other, graph);
        late.wait_stream(other);
        copy(late, out, x);
    }
    gate.open();
    late.synchronize();
    CHECK(to_host(late, out)[0] == 7);
}

TEST_CASE(
    "waiting for a device waits for work in an open batch of a stream of it that is gone since",
    "[multi]") {
    const std::vector<Device> devices = test_devices();
    if (devices.size() < 2) HEDDLE_SKIP("needs two devices");
    const Drained drained;
    const Stream s(devices[0]), beside(devices[0]);
    Array<int> x = pinned<int>(1), y = pinned<int>(1);
    x[0] = y[0] = 0;
    Batch batch = recorded();
    ScopedBatch in(batch, s);
    beside.wait_stream(s);
    launch(beside, Store{}, dim(1), 1, x);
    SECTION("work") {
        {
            const Stream other(devices[1]);
            other.wait_stream(beside);
            launch(other, Store{}, dim(1), 1, y);
        }
        synchronize_device(devices[1]);
        CHECK(y[0] == 1);
    }
    SECTION("a wait") {
        const Stream other(devices[1]);
        other.wait_stream(beside);
    }
    SECTION("a wait for an event") {
        const Stream other(devices[1]);
        other.wait_event(beside.record_event());
    }
    synchronize_device(devices[1]);
    CHECK(x[0] == 1);
    in.end();
}

TEST_CASE("observers learn which batch it is that another thread sends when it has just begun") {
    struct Batches final : Observer {
        std::atomic<int> sent{0}, unknown{0};
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind != OpKind::graph_launch) return;
            ++sent;
            if (op.recording == 0) ++unknown;
        }
    } batches;
    const Drained drained;
    const Stream s(test_device());
    Batch step({.on_cpu = true});
    add_observer(batches);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            launch_host(s, [] {});
            s.synchronize();
        }
    });
    for (int i = 0; i < 200'000 && batches.sent < static_cast<int>(repetitions(20'000, 200)); ++i)
        const ScopedBatch in(step, s);
    stop = true;
    other.join();
    remove_observer(batches);
    CHECK(batches.unknown == 0);
}
