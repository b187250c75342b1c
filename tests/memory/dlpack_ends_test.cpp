// When deleters of DLPack tensors are called: in host functions, captures and batches, ordered by
// data, after the end of the streams that used the memory, and at the end of the process.
#include "child.hpp"
#include "kernels.hpp"
#include "memory/foreign_tensor.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <memory>
#include <optional>

using namespace heddle_test;

namespace {

constexpr std::size_t n = Foreign::elements;

}  // namespace

TEST_CASE("a tensor may end in a host function") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, n);
    const View<int> there = x;
    auto tensor = std::make_shared<DlpackPtr>(to_dlpack(s, x));
    x.reset();
    launch_host(s, [tensor] { tensor->reset(); });
    s.synchronize();
    CHECK_FALSE(is_there(s, there));
}

TEST_CASE("a host function may take a tensor, and give up its array") {
    Foreign foreign;
    const Stream s(cpu_device()), other(cpu_device());
    launch_host(s, [&] {
        Array<int> x = from_dlpack<int>(other, foreign.tensor());
        launch(other, Add{}, dim(n), x, 1);
    });
    s.synchronize();
    finish_adopted();
    CHECK(foreign.ended() == 1);
    CHECK(foreign.plain[n - 1] == 2);
}

TEST_CASE("a tensor keeps memory that a graph uses") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, n), y = zeros<int>(s, n);
    DlpackPtr tensor = to_dlpack(s, x);
    std::optional<Graph> graph;
    {
        ScopedCapture capture(s);
        launch(s, Add{}, dim(n), x, 3);
        copy(s, y, x);
        x.reset();
        graph = capture.end();
    }
    graph->launch(s);
    graph->launch(s);
    CHECK(to_host(s, y) == Ints(n, 6));
    tensor.reset();
    CHECK(mentions(error_of([&] { graph->launch(s); }), "an array that was destroyed"));
}

TEST_CASE("the deleter of a tensor runs while a capture is open, and is no part of it") {
    Foreign foreign;
    const Stream s(cpu_device()), captured(cpu_device());
    Array<int> y = zeros<int>(captured, n);
    Graph graph;
    {
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        launch(s, Add{}, dim(n), x, 1);
        ScopedCapture capture(captured);
        launch(captured, Add{}, dim(n), y, 1);
        x.reset();
        CHECK(eventually([&] { return foreign.ended() == 1; }));
        graph = capture.end();
    }
    graph.launch(captured);
    CHECK(to_host(captured, y) == Ints(n, 1));
}

TEST_CASE("a tensor of memory that a batch uses ends after the batch's work") {
    Foreign foreign;
    const Stream s(cpu_device());
    Batch steps;
    for (int i = 0; i < 3; ++i) {
        DrainedGate gate(s);
        {
            const ScopedBatch batch(steps, s);
            Array<int> x = from_dlpack<int>(s, foreign.tensor());
            launch(s, Add{}, dim(n), x, 1);
        }
        CHECK(foreign.ended() == i);
        gate.open();
        finish_adopted();
        CHECK(foreign.ended() == i + 1);
    }
    const ScopedBatch batch(steps, s);
    Array<int> x = from_dlpack<int>(s, foreign.tensor());
    launch(s, Add{}, dim(n), x, 1);
    x.reset();
    finish_adopted();  // flushes the batch
    CHECK((foreign.ended() == 4 && foreign.plain[0] == 5));
}

TEST_CASE("arrays by data come from tensors, and leave as tensors") {
    Foreign foreign;
    const Stream s(cpu_device());
    {
        DataOrder order(cpu_device());
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        Array<int> y = zeros<int>(order, n);
        DrainedGate gate(s);
        launch(s, Add{}, dim(n), x, 1);  // outside the order, and before the order uses x
        launch(order, AddTo{}, dim(n), std::as_const(x), y);
        launch(order, Add{}, dim(n), x, 5);
        const DlpackPtr tensor = to_dlpack(s, y);
        x.reset();
        CHECK(foreign.ended() == 0);
        gate.open();
        s.synchronize();  // ordered after the launches on y
        CHECK(static_cast<int*>(tensor->tensor.data)[n - 1] == 2);
    }
    finish_adopted();
    CHECK(foreign.ended() == 1);
    CHECK(foreign.plain[n - 1] == 7);
}

TEST_CASE("the failure of work by data is thrown by to_dlpack, and the tensor ends") {
    Foreign foreign;
    {
        DataOrder order(cpu_device());
        const Stream s(cpu_device());
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        launch_host(order, [] { throw Boom("by data"); }, writes(x));
        CHECK(mentions(error_of([&] { (void)to_dlpack(x); }), "by data"));
        x.reset();
        CHECK(error_of([&] { order.synchronize(); }));
        (void)order.clear_error();
    }
    finish_adopted();
    CHECK(foreign.ended() == 1);
}

TEST_CASE("tensors outlive their streams") {
    Foreign foreign;
    std::optional<Stream> s(cpu_device()), consumer(cpu_device());
    const Stream other(cpu_device());
    DrainedGate gate(*s);
    Array<int> x = from_dlpack<int>(*s, foreign.tensor());
    launch(*s, Add{}, dim(n), x, 1);
    DlpackPtr tensor = to_dlpack(*consumer, x);
    s.reset();
    consumer.reset();
    x.reset();
    tensor.reset();
    CHECK(foreign.ended() == 0);
    gate.open();
    finish_adopted();
    CHECK((foreign.ended() == 1 && foreign.plain[0] == 2));
}

TEST_CASE("a tensor of an array that is moved stays") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, n, 5);
    const DlpackPtr tensor = to_dlpack(x);
    Array<int> y = std::move(x);
    x = full<int>(s, n, 6);
    CHECK(tensor->tensor.data == y.data());
}

TEST_CASE("deleters may use heddle, but may not wait for each other") {
    Foreign foreign;
    std::optional<Error> refused;
    int result = 0;
    foreign.at_end = [&] {
        refused = error_of([] { finish_adopted(); });
        const Stream own(cpu_device());
        const Array<int> x = full<int>(own, 10, 4);
        result = static_cast<int*>(to_dlpack(x)->tensor.data)[3];
    };
    const Stream s(cpu_device());
    {
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        launch(s, Add{}, dim(n), x, 1);
    }
    finish_adopted();
    CHECK(foreign.ended() == 1);
    CHECK(mentions(refused, "must not wait"));
    CHECK(result == 4);
}

TEST_CASE("a deleter that takes its memory again makes a new array of it") {
    Foreign foreign;
    const Stream s(cpu_device());
    std::optional<Array<int>> again;
    foreign.at_end = [&] {
        if (foreign.ended() == 0) again = from_dlpack<int>(s, foreign.tensor());
    };
    from_dlpack<int>(s, foreign.tensor()).reset();
    finish_adopted();
    REQUIRE(again);
    CHECK(foreign.ended() == 1);
    launch(s, Add{}, dim(n), *again, 1);
    again.reset();
    finish_adopted();
    CHECK((foreign.ended() == 2 && foreign.plain[0] == 2));
}

TEST_CASE("child: exit with tensors in use", "[.child]") {
    end_if_it_hangs();
    static auto* const foreign = new Foreign;
    static const Stream s(cpu_device());
    static Gate gate;
    foreign->at_end = [] { std::_Exit(5); };
    static Array<int> kept = from_dlpack<int>(s, foreign->tensor());
    static DlpackPtr tensor = to_dlpack(kept);
    static DlpackPtr last = to_dlpack(zeros<int>(s, n));
    gate.hold(s);
    launch(s, Add{}, dim(n), kept, 1);
    last = to_dlpack(s, kept);
    std::exit(0);
}

TEST_CASE("when exit() has begun, no deleter is called, and tensors may end") {
    const ChildResult child = run_test_case("child: exit with tensors in use");
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
    CHECK(child.output.find("heddle:") == std::string::npos);
}

TEST_CASE("in the child of a fork, the parent's tensors end without their deleters") {
    HEDDLE_SKIP_WITHOUT_FORK();
    if (test_device().is_cuda()) HEDDLE_SKIP("a forked child cannot use CUDA");
    Foreign foreign;
    const Stream s(cpu_device());
    Array<int> x = from_dlpack<int>(s, foreign.tensor());
    DlpackPtr out = to_dlpack(zeros<int>(s, n));
    const ChildResult child = run_forked([&] {
        x.reset();
        out.reset();
        finish_adopted();
        if (foreign.ended() != 0) return 1;
        Foreign own;
        {
            const Stream here(cpu_device());
            Array<int> y = from_dlpack<int>(here, own.tensor());
            launch(here, Add{}, dim(n), y, 1);
        }
        finish_adopted();
        return own.ended() == 1 && own.plain[0] == 2 ? 0 : 2;
    });
    CHECK(child.status == 0);
    x.reset();
    finish_adopted();
    CHECK(foreign.ended() == 1);
}
