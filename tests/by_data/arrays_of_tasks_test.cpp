// A DataOrder orders work on arrays that tasks make, replace and free.
#include "kernels.hpp"
#include "noted.hpp"

#include <thread>

using namespace heddle_test;
using namespace heddle_test::by_data;

namespace {

/// Stands for a library function. The gate holds its work. Returns the result in a new array.
Array<int> made_behind(const Gate& gate, StreamRef stream, int value) {
    Array<int> made(stream, n);
    gate.hold(stream);
    launch(stream, Set{}, dim(n), made, value);
    return made;
}

/// Sets a flag when the host begins to wait.
class HostWaits final : public Observer {
public:
    HostWaits() { add_observer(*this); }
    ~HostWaits() { remove_observer(*this); }
    HostWaits(const HostWaits&) = delete;
    HostWaits& operator=(const HostWaits&) = delete;
    void on_op(const OpInfo& op) noexcept override {
        if (op.kind == OpKind::synchronize_begin) begun.set();
    }
    Flag begun;
};

}  // namespace

TEST_CASE("by data: what reads an array that a task has made comes after the task", "[by_data]") {
    for (const DataWaits waits : all_waits) {
        const Here here;
        Array<int> x, y = array(), z = array();
        DrainedGate gate;
        Noted on(3, waits);
        on.order.task({}, [&](StreamRef s) { x = made_behind(gate, s, 7); });
        on.order.task({writes(z)}, [](StreamRef) {});  // the newest operation of another stream
        launch(on.order, CopyKernel{}, dim(n), x, y);
        on.note("read", reads(x), reads(z));
        CHECK(on.has_seen_nothing());
        gate.open();
        CHECK(to_host(on.order, y) == constant(7));
    }
}

TEST_CASE("by data: what writes an array that a task has made comes after the task", "[by_data]") {
    const Here here;
    Array<int> x, z = array();
    DrainedGate gate;
    Noted on(3);
    on.order.task({}, [&](StreamRef s) { x = made_behind(gate, s, 7); });
    on.order.task({writes(z)}, [](StreamRef) {});
    on.note("write", writes(x), writes(z));
    CHECK(on.has_seen_nothing());
}

TEST_CASE("by data: the host waits for the task that has made an array", "[by_data]") {
    const Here here;
    Array<int> x;
    DrainedGate gate;
    Noted on(3);
    on.order.task({}, [&](StreamRef s) {
        x = full<int>(s, n, 3);
        s.synchronize();  // reading too early would return 3
        gate.hold(s);
        launch(s, Set{}, dim(n), x, 7);
    });
    const HostWaits host;
    // Opens the gate once the host waits. A host that did not wait would read too early. On a GPU,
    // the wait is a part of the copy, so no observer is notified of it.
    std::thread opener([&, begun = host.begun] {
        if (test_device().is_cuda()) finish_work(test_device());
        else (void)begun.wait();
        gate.open();
    });
    const Ints read = to_host(on.order, x);
    host.begun.set();
    opener.join();
    CHECK(read == constant(7));
}

TEST_CASE("by data: an array that a task replaces is the new one for what follows", "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array(), z = array();
    DrainedGate gate;
    Noted on(3);
    launch(on.order, Set{}, dim(n), x, 1);
    on.order.task({writes(x)}, [&](StreamRef s) {
        x = Array<int>();  // freed, so that its memory may be reused
        x = made_behind(gate, s, 7);
    });
    on.order.task({writes(z)}, [](StreamRef) {});
    launch(on.order, CopyKernel{}, dim(n), x, y);
    on.note("read", reads(x), reads(z));
    CHECK(on.has_seen_nothing());
    gate.open();
    CHECK(to_host(on.order, y) == constant(7));
}

TEST_CASE("by data: an array is freed in a task behind all that uses it", "[by_data]") {
    const Here here;
    Array<int> y = array();
    DrainedGate gate;
    Noted on(3);
    Array<int> x = zeros<int>(on.order, n);
    on.order.task({writes(x)}, [&](StreamRef s) {
        gate.hold(s);
        launch(s, Set{}, dim(n), x, 7);
    });
    launch(on.order, CopyKernel{}, dim(n), x, y);
    on.order.task({}, [&](StreamRef s) {
        x = Array<int>();
        Array<int> next(s, n);  // may get the same memory
        launch(s, Set{}, dim(n), next, 9);
    });
    gate.open();
    CHECK(to_host(on.order, y) == constant(7));
}

TEST_CASE("by data: what a task does on another stream counts as work outside", "[by_data]") {
    const Here here;
    const Stream side(test_device());
    Array<int> x, y = array();
    DrainedGate gate;
    Noted on(3);
    on.order.task({}, [&](StreamRef) { x = made_behind(gate, side, 7); });
    launch(on.order, CopyKernel{}, dim(n), x, y);
    on.note("read", reads(x));
    CHECK(on.has_seen_nothing());
    gate.open();
    CHECK(to_host(on.order, y) == constant(7));
}

TEST_CASE("by data: a second task that changes what the first has made counts, too", "[by_data]") {
    const Here here;
    Array<int> x, y = array();
    DrainedGate gate;
    Noted on(3);
    StreamRef first;
    on.order.task({}, [&](StreamRef s) {
        first = s;
        x = Array<int>(s, n);
        launch(s, Set{}, dim(n), x, 3);
    });
    on.order.task({}, [&](StreamRef s) {  // does not declare x; the task itself waits
        REQUIRE(s != first);
        s.wait_stream(first);
        gate.hold(s);
        launch(s, Add{}, dim(n), x, 4);
    });
    launch(on.order, CopyKernel{}, dim(n), x, y);
    on.note("read", reads(x));
    CHECK(on.has_seen_nothing());
    gate.open();
    CHECK(to_host(on.order, y) == constant(7));
}

TEST_CASE("by data: reads of an array that a task has made run side by side", "[by_data]") {
    const Here here;
    Array<int> x, y = array(), z = array();
    const Drained drained;
    Gate making, reading;
    Noted on(3, DataWaits::exact);
    on.order.task({}, [&](StreamRef s) { x = made_behind(making, s, 7); });
    on.order.task({reads(x), writes(y)}, [&](StreamRef s) { reading.hold(s); });
    on.order.task({writes(z)}, [](StreamRef) {});  // on a stream that no gate holds
    on.note("read", reads(x), writes(z));
    CHECK(on.has_seen_nothing());
    making.open();
    CHECK(eventually([&] { return on.seen.has("read"); }));
}

TEST_CASE("by data: a failure reaches what reads the array that the task should have made",
          "[by_data]") {
    const Here here;
    Array<int> x, y = array();
    {
        const Drained drained;
        Noted on(3);
        on.order.task({}, [&](StreamRef s) {
            x = Array<int>(s, n);
            launch_host(s, [] { throw Boom("made"); }, writes(x));
        });
        launch(on.order, CopyKernel{}, dim(n), x, y);
        CHECK(mentions(error_of([&] { (void)to_host(on.order, y); }), "made"));
    }
    CHECK(current_stream(test_device()).clear_error() != nullptr);
}
