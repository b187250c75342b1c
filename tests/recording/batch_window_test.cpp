// Threads that have read a stream's flags but not enqueued yet, while the stream joins a batch
// (docs/adr/0060). The streams use a backend that holds the threads at that point.
#include "core/recording/recorder.hpp"
#include "core/stream/submission.hpp"
#include "cpu/queue/queue.hpp"
#include "stream/holding_backend.hpp"
#include "support.hpp"

#include <atomic>
#include <thread>

using namespace heddle_test;

namespace {

/// Enqueues host functions like a backend whose native calls share no lock with heddle. The queue
/// accepts work without checking the stream's flags.
class Announcing final : public HoldingBackend {
public:
    Call on_its_way;  ///< called between the check of the flags and the native call

    void enqueue(detail::StreamRecord& stream, const detail::OpType& type, void* self,
                 std::size_t count, const SourceLocation& where) override {
        call(in_enqueue);
        detail::Submission submission(stream, where);
        call(on_its_way);
        detail::cpu::queue_of(stream).push(detail::cpu::Step::work, type, self, count, where,
                                           false);
        submission.count();
    }
    bool finish_enqueues(detail::StreamRecord& stream) noexcept override {
        return Backend::finish_enqueues(stream);
    }
};

bool is_recorded(StreamRef stream) {
    return detail::record_of(stream).has(detail::stream_flag::recording);
}

}  // namespace

TEST_CASE("a launch that a thread has not yet enqueued comes after the work of a batch that has "
          "taken its stream in meanwhile") {
    const Stream origin(cpu_device()), side(cpu_device());
    const OrderLog seen;
    const Drained drained;
    const StopPoint stop;
    const auto with = [&](HoldingBackend& backend) {
        backend.take(origin);
        backend.take(side);
        Batch step({.on_cpu = true});
        backend.in_enqueue = [&] { stop.stop(); };
        std::thread second([&] { seen.note(side, "launched"); });
        stop.reached.wait();
        {
            const ScopedBatch batch(step, origin);
            side.wait_stream(origin);
            REQUIRE(is_recorded(side));
            seen.note(side, "recorded");
            stop.go.set();
            second.join();
            CHECK_FALSE(is_recorded(side));  // the launch flushed the batch, and the stream left
            CHECK(step.last().graphs == 1);
        }
        side.synchronize();
        CHECK(seen.seen() == Strings{"recorded", "launched"});
    };
    SECTION("with the queue's lock") {
        HoldingBackend backend;
        with(backend);
    }
    SECTION("announced") {
        Announcing backend;
        with(backend);
    }
}

TEST_CASE("a batch leaves a stream alone to which another thread is about to enqueue something") {
    const Stream origin(cpu_device()), side(cpu_device());
    const OrderLog seen;
    const Drained drained;
    Announcing backend;
    backend.take(origin);
    backend.take(side);
    const StopPoint stop;
    backend.on_its_way = [&] { stop.stop(); };
    std::thread second([&] { seen.note(side, "launched"); });
    stop.reached.wait();
    Gate gate;
    {
        Batch step({.on_cpu = true});
        const ScopedBatch batch(step, origin);
        seen.note(origin, "origin");
        side.wait_stream(origin);  // does not join the batch, but enqueues a wait
        CHECK_FALSE(is_recorded(side));
        gate.hold(side);
        seen.note(side, "side");
        CHECK_FALSE(is_recorded(side));
    }
    stop.go.set();
    second.join();
    origin.synchronize();
    finish_work(cpu_device());
    CHECK(seen.seen() == Strings{"origin"});  // both operations of `side` wait for the gate
    check_opened(seen, gate, side, {"origin", "side", "launched"});
}

TEST_CASE("a stream joins the next batch once what was on its way has been enqueued") {
    const Stream origin(cpu_device()), side(cpu_device());
    const Drained drained;
    Announcing backend;
    backend.take(origin);
    backend.take(side);
    launch_host(side, [] {});
    side.synchronize();
    backend.on_its_way = [] { throw Boom("refused"); };
    CHECK_THROWS(launch_host(side, [] {}));
    Batch step({.on_cpu = true});
    const ScopedBatch batch(step, origin);
    side.wait_stream(origin);
    CHECK(is_recorded(side));
}

TEST_CASE("a wait that a thread has not yet enqueued holds what that thread launches next, also if "
          "a batch is sending the stream's work just then") {
    const Stream origin(cpu_device()), side(cpu_device()), other(cpu_device());
    const OrderLog seen;
    const Drained drained;
    HoldingBackend backend;
    backend.take(origin);
    backend.take(side);
    Gate gate(other);
    launch_host(other, [] {});
    const Event event = other.record_event();
    const StopPoint stop;
    const Flag waits;
    backend.in_wait_completion = [&] { stop.stop(); };
    std::thread second([&] {
        side.wait_event(event);
        waits.set();
        seen.note(side, "behind the wait");
    });
    stop.reached.wait();
    Batch step({.on_cpu = true});
    {
        ScopedBatch batch(step, origin);
        side.wait_stream(origin);
        REQUIRE(is_recorded(side));
        seen.note(side, "recorded");
        detail::Recorder& recorder = *detail::record_of(side).recorder.load();
        backend.in_instantiate = [&] {  // the batch has read its streams' flags, but not launched
            stop.go.set();
            CHECK(eventually([&] { return waits.is_set() || recorder.lock.is_awaited(); }));
        };
        batch.flush();
        second.join();
    }
    origin.synchronize();
    finish_work(cpu_device());
    CHECK(seen.seen() == Strings{"recorded"});
    check_opened(seen, gate, side, {"recorded", "behind the wait"});
}

TEST_CASE("work of one stream never runs side by side while a thread launches on it and another "
          "takes it into batches") {
    const Drained drained;
    const Stream origin(cpu_device()), side(cpu_device());
    std::atomic<int> inside{0}, beside{0};
    const auto work = [&] {
        if (inside.fetch_add(1) != 0) ++beside;
        inside.fetch_sub(1);
    };
    std::atomic<bool> stop{false};
    std::thread second([&] {
        while (!stop) launch_host(side, work);
    });
    Batch step({.on_cpu = true});
    for (std::size_t i = 0; i < repetitions(2000, 200); ++i) {
        const ScopedBatch batch(step, origin);
        side.wait_stream(origin);
        launch_host(side, work);
        origin.wait_stream(side);
    }
    stop = true;
    second.join();
    side.synchronize();
    origin.synchronize();
    CHECK(beside == 0);
}
