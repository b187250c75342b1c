// Captures and batches with features of CUDA: __global__ functions, and work that other code
// enqueues natively on a stream.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <thread>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }
__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

}  // namespace

CUDA_TEST_CASE("__global__ functions are captured, by name") {
    const Stream s(gpu());
    Array<int> x = full<int>(s, 32, 1);
    Graph graph = capture(s, [&] {
        launch(s, add, grid(1, 32), x, 4);
        launch(s, twice, grid(1, 32), x);
    });
    CHECK(graph.size() == 2);
    CHECK(graph.nodes()[0].name.find("add") != std::string::npos);
    graph.launch(s);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, ((1 + 4) * 2 + 4) * 2));
}

CUDA_TEST_CASE(
    "work enqueued past heddle on a stream whose handle is out is captured in its place") {
    const Stream s(gpu());
    Array<int> x = ready_full<int>(s, 32, 1);
    Graph graph = capture(s, [&] {
        launch(s, add, grid(1, 32), x, 1);
        const cudaStream_t native = native_handle(s);
        twice<<<1, 32, 0, native>>>(x.data());
        launch(s, add, grid(1, 32), x, 3);
        add<<<1, 32, 0, native>>>(x.data(), 5);
        twice<<<1, 32, 0, native>>>(x.data());
    });
    CHECK(graph.size() == 4);
    CHECK(graph.nodes()[1].kind == NodeKind::other);
    CHECK(to_host(s, x) == Ints(32, 1));
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, ((1 + 1) * 2 + 3 + 5) * 2));
    Graph clone = graph.clone();
    clone.launch(s);
    CHECK(to_host(s, x) == Ints(32, ((24 + 1) * 2 + 3 + 5) * 2));
}

CUDA_TEST_CASE("an update takes over work enqueued past heddle") {
    const Stream s(gpu());
    Array<int> x = ready_full<int>(s, 32, 1);
    const cudaStream_t native = native_handle(s);
    const auto adding = [&](int value) {
        return capture(s, [&] { add<<<1, 32, 0, native>>>(x.data(), value); });
    };
    Graph graph = adding(2);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 3));
    graph.update(adding(5));
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 8));
    // CUDA cannot change a child graph to one with other nodes: the executable is made anew.
    graph.update(capture(s, [&] {
        twice<<<1, 32, 0, native>>>(x.data());
        add<<<1, 32, 0, native>>>(x.data(), 1);
    }));
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 17));
    graph.update(adding(3));
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 20));
}

CUDA_TEST_CASE(
    "a stream whose handle was out before takes part in captures, others of heddle's with it") {
    const Stream a(gpu()), b(gpu());
    const cudaStream_t native_a = native_handle(a), native_b = native_handle(b);
    Array<int> x = full<int>(a, 32, 1), y = full<int>(a, 32, 1);
    a.synchronize();
    Graph graph = capture(a, [&] {
        add<<<1, 32, 0, native_a>>>(x.data(), 1);
        b.wait_stream(a);
        add<<<1, 32, 0, native_b>>>(y.data(), 10);
        launch(b, AddTo{}, dim(32), x, y);
        twice<<<1, 32, 0, native_b>>>(y.data());
        a.wait_stream(b);
        launch(a, AddTo{}, dim(32), y, x);
    });
    graph.launch(a);
    CHECK(to_host(a, y) == Ints(32, 26));
    CHECK(to_host(a, x) == Ints(32, 28));
    launch(b, add, grid(1, 32), x, 1);
    CHECK(to_host(b, x) == Ints(32, 29));
}

CUDA_TEST_CASE("a body that throws between foreign work leaves the stream usable") {
    const Stream s(gpu());
    Array<int> x = full<int>(s, 32, 1);
    const cudaStream_t native = native_handle(s);
    CHECK_THROWS_AS((void)capture(s,
                                  [&] {
                                      add<<<1, 32, 0, native>>>(x.data(), 1);
                                      throw Boom("away");
                                  }),
                    Boom);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    check_cuda(cudaStreamIsCapturing(native, &status), "cudaStreamIsCapturing");
    CHECK(status == cudaStreamCaptureStatusNone);
    add<<<1, 32, 0, native>>>(x.data(), 7);
    CHECK(to_host(s, x) == Ints(32, 8));
}

CUDA_TEST_CASE(
    "other threads use memory, events and streams while a capture is open, in every mode") {
    for (const CaptureMode mode :
         {CaptureMode::thread_local_, CaptureMode::global, CaptureMode::relaxed}) {
        const Stream s(gpu());
        const cudaStream_t native = native_handle(s);
        Array<int> x = ready_full<int>(s, 32, 1);
        std::string failed;
        const auto intact = [&](const char* after) {
            cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
            check_cuda(cudaStreamIsCapturing(native, &status), "cudaStreamIsCapturing");
            if (status != cudaStreamCaptureStatusActive && failed.empty()) failed = after;
        };
        const auto housekeeping = [&] {
            try {
                {
                    const Stream other(gpu());
                    intact("a stream was made");
                    Array<int> memory = full<int>(other, 100'000, 3);
                    intact("memory was allocated");
                    auto staging = pinned<int>(100'000);
                    intact("memory was pinned");
                    copy(other, staging, memory);
                    intact("memory was copied");
                    const Event event = other.record_event();
                    event.synchronize();
                    intact("an event was waited for");
                    (void)event.is_complete();
                    intact("an event was asked");
                    other.synchronize();
                    intact("a stream was waited for");
                }
                intact("all of it was discarded");
            } catch (const std::exception& e) {
                failed += std::string(" ") + e.what();
            }
        };
        INFO("mode " << static_cast<int>(mode));
        ScopedCapture scope(s, {.mode = mode});
        add<<<1, 32, 0, native>>>(x.data(), 1);
        std::thread(housekeeping).join();
        CHECK(failed == "");
        housekeeping();
        REQUIRE(failed == "");
        launch(s, twice, grid(1, 32), x);
        Graph graph = scope.end();
        graph.launch(s);
        CHECK(to_host(s, x) == Ints(32, 4));
    }
}

CUDA_TEST_CASE("a batch on a stream whose handle is out is done eagerly, and says so") {
    const Stream s(gpu());
    const cudaStream_t native = native_handle(s);
    Array<int> x = full<int>(s, 32, 1);
    Batch step;
    {
        const ScopedBatch in(step, s);
        launch(s, add, grid(1, 32), x, 1);
        twice<<<1, 32, 0, native>>>(x.data());
        launch(s, add, grid(1, 32), x, 1);
    }
    CHECK(step.last().outcome == BatchOutcome::eager);
    CHECK(step.last().why.find("native handle") != std::string_view::npos);
    CHECK(to_host(s, x) == Ints(32, 5));
}

CUDA_TEST_CASE(
    "a handle exposed in a batch sends what came before, and nothing is recorded any more") {
    const Stream s(gpu());
    Array<int> x = full<int>(s, 32, 1);
    Batch step;
    {
        const ScopedBatch in(step, s);
        launch(s, add, grid(1, 32), x, 1);
        const cudaStream_t native = native_handle(s);
        twice<<<1, 32, 0, native>>>(x.data());
        launch(s, add, grid(1, 32), x, 1);
        twice<<<1, 32, 0, native>>>(x.data());
    }
    CHECK(step.last().operations == 1);
    CHECK(to_host(s, x) == Ints(32, 10));
}

CUDA_TEST_CASE("__global__ functions in batches are replayed and updated, another function takes "
               "another's place") {
    const Stream s(gpu());
    Array<int> x = full<int>(s, 32, 0);
    Batch step;
    const auto run = [&](int value) {
        const ScopedBatch in(step, s);
        launch(s, add, grid(1, 32), x, value);
        launch(s, twice, grid(1, 32), x);
    };
    run(1);
    run(1);
    CHECK(step.last().outcome == BatchOutcome::replayed);
    run(2);
    CHECK(step.last().outcome == BatchOutcome::updated);
    CHECK(to_host(s, x) == Ints(32, ((1 * 2 + 1) * 2 + 2) * 2));
}

CUDA_TEST_CASE("fills of elements of all sizes and copies in batches follow what changes") {
    const Stream s(gpu());
    const ScopedStream in(s);
    Array<double> x = zeros<double>(100), y = zeros<double>(100), z = zeros<double>(100);
    Batch step;
    for (int i = 0; i < 6; ++i) {
        step.run([&] {
            fill(x, 1.5 * i);
            copy(i % 3 == 0 ? y : z, x);
        });
        if (i > 0) CHECK(step.last().graphs == 1);
    }
    CHECK(to_host(x) == std::vector<double>(100, 7.5));
    CHECK(to_host(y) == std::vector<double>(100, 4.5));
    CHECK(to_host(z) == std::vector<double>(100, 7.5));
}

CUDA_TEST_CASE(
    "host functions of a graph are changed between launches, and launches that wait keep theirs") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream s(gpu());
    auto node = host_node(gpu(), [&] { seen.add("first"); });
    Graph graph = node.build();
    gate.hold(s);
    graph.launch(s);
    node.call([&] { seen.add("second"); });
    graph.launch(s);
    finish_work(gpu());
    CHECK(seen.seen().empty());
    check_opened(seen, gate, s, {"first", "second"});
}

CUDA_TEST_CASE("a host function that fails in a graph blames the stream of its own launch") {
    DrainedGate gate;
    const Stream a(gpu()), b(gpu());
    bool fails = true;
    auto node = host_node(gpu(), [&] {
        if (std::exchange(fails, false)) throw Boom("once");
    });
    Graph graph = node.build();
    gate.hold(a);
    graph.launch(a);
    graph.launch(b);
    gate.open();
    b.synchronize();
    CHECK(error_of([&] { a.synchronize(); }).has_value());
    CHECK_FALSE(b.is_poisoned());
}
