// with_native() and borrow() on CUDA devices: captures (also those begun outside heddle), other
// threads, and errors. stream/lend_test.cpp tests order, elision and memory. with/with_native.cu
// has the guide's example.
#include "../check/checked.hpp"
#include "../support.hpp"
#include "../waits_of.hpp"

#include <heddle/cuda.hpp>

#include <thread>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }
__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

struct GraphOwner {
    cudaGraph_t graph = nullptr;
    ~GraphOwner() {
        if (graph != nullptr) cudaGraphDestroy(graph);
    }
    std::size_t nodes() const {
        std::size_t n = 0;
        check_cuda(cudaGraphGetNodes(graph, nullptr, &n), "cudaGraphGetNodes");
        return n;
    }
};

}  // namespace

CUDA_TEST_CASE(
    "a wait in a capture that others begin in a loan is made, whatever was waited for before") {
    const Stream s(gpu()), t(gpu());
    Array<int> x = zeros<int>(s, 32), y = zeros<int>(t, 32);
    t.wait_stream(s), s.wait_stream(t), t.wait_stream(s);
    synchronize_device(gpu());
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
    GraphOwner made;
    with_native(
        s,
        [&](cudaStream_t native) -> cudaError_t {
            if (const cudaError_t code =
                    cudaStreamBeginCapture(native, cudaStreamCaptureModeRelaxed);
                code != cudaSuccess)
                return code;
            add<<<1, 32, 0, native>>>(x.data(), 1);
            CHECK(waits_of([&] { t.wait_stream(s); }) == inserted);  // t joins the capture
            CHECK(t.is_capturing());
            with_native(
                t, [&](cudaStream_t other) { add<<<1, 32, 0, other>>>(y.data(), 2); }, writes(y));
            CHECK(waits_of([&] { s.wait_stream(t); }) == inserted);
            return cudaStreamEndCapture(native, &made.graph);
        },
        writes(x));
    CHECK(made.nodes() == 2);
    CHECK_FALSE(t.is_capturing());
    CHECK(to_host(s, x) == Ints(32, 0));  // nothing has run
    CHECK(to_host(t, y) == Ints(32, 0));
}

CUDA_TEST_CASE("a wait in a capture that others begin elides none after it") {
    const OrderLog seen;
    const Drained drained;
    const Stream s(gpu()), t(gpu());
    Array<int> x = ready_zeros<int>(s, 32);
    GraphOwner made;
    with_native(s, [&](cudaStream_t native) {
        check_cuda(cudaStreamBeginCapture(native, cudaStreamCaptureModeRelaxed), "begin");
        add<<<1, 32, 0, native>>>(x.data(), 1);
        t.wait_stream(s);
        s.wait_stream(t);
        check_cuda(cudaStreamEndCapture(native, &made.graph), "end");
    });
    CHECK(waits_of([&] { t.wait_stream(s); }) == inserted);
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
    CHECK(waits_of([&] { s.wait_stream(t); }) == inserted);
    Gate gate(s);
    seen.note(s, "s");
    t.wait_stream(s);
    seen.note(t, "t");
    check_opened(seen, gate, t, {"s", "t"});
}

CUDA_TEST_CASE("what a loan forks is captured with it, and what it leaves open is refused") {
    const Stream s(gpu());
    const Event point(gpu());
    cudaStream_t side = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreate");
    cudaEvent_t fork = nullptr, join = nullptr;
    check_cuda(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreate");
    check_cuda(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "cudaEventCreate");
    Array<int> x = zeros<int>(s, 32), y = zeros<int>(s, 32);
    s.synchronize();
    const auto forked = [&](bool joins) {
        return capture(s, [&] {
            with_native(
                s,
                [&](cudaStream_t native) {
                    check_cuda(cudaEventRecord(fork, native), "record");
                    check_cuda(cudaStreamWaitEvent(side, fork, 0), "wait");
                    add<<<1, 32, 0, native>>>(x.data(), 1);
                    add<<<1, 32, 0, side>>>(y.data(), 2);
                    if (!joins) return;
                    check_cuda(cudaEventRecord(join, side), "record");
                    check_cuda(cudaStreamWaitEvent(native, join, 0), "wait");
                },
                writes(x, y));
            launch(s, twice, grid(1, 32), y);
        });
    };
    Graph graph = forked(true);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 1));
    CHECK(to_host(s, y) == Ints(32, 4));
    CHECK(thrown_by([&] { (void)forked(false); }).code() == ErrorCode::usage);
    launch(s, twice, grid(1, 32), y);  // the stream is in no capture any more
    CHECK(to_host(s, y) == Ints(32, 8));
    cudaEventDestroy(fork), cudaEventDestroy(join), cudaStreamDestroy(side);
}

CUDA_TEST_CASE("native work in captures stands between heddle's own, loans nested or not") {
    const Stream s(gpu()), t(gpu());
    Array<int> x = ready_full<int>(s, 32, 1);
    Graph graph = capture(s, [&] {
        with_native(
            s,
            [&](cudaStream_t native) {
                add<<<1, 32, 0, native>>>(x.data(), 1);
                launch(s, twice, grid(1, 32), x);
                with_native(s, [&](cudaStream_t again) { add<<<1, 32, 0, again>>>(x.data(), 3); });
                twice<<<1, 32, 0, native>>>(x.data());
            },
            writes(x));
        t.wait_stream(s);
        twice<<<1, 32, 0, borrow(t, writes(x))>>>(x.data());
        s.wait_stream(t);
        launch(s, add, grid(1, 32), x, 5);
    });
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, ((1 + 1) * 2 + 3) * 4 + 5));
    t.wait_stream(s);
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
}

CUDA_TEST_CASE("two threads lend one captured stream") {
    const Stream s(gpu());
    Array<int> x = ready_zeros<int>(s, 32);
    Graph graph;
    {
        ScopedCapture scope{s, {.mode = CaptureMode::relaxed}};
        const Flag is_lent, may_end;
        std::thread other([&] {
            with_native(s, [&](cudaStream_t) {
                is_lent.set();
                may_end.wait();
            });
        });
        CHECK(is_lent.wait());
        with_native(
            s, [&](cudaStream_t native) { add<<<1, 32, 0, native>>>(x.data(), 1); }, writes(x));
        may_end.set();
        other.join();
        launch(s, twice, grid(1, 32), x);
        graph = scope.end();
    }
    graph.launch(s);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, (2 + 1) * 2));
}

CUDA_TEST_CASE("an error of a loan is thrown with its place, an older one is left alone") {
    const Stream s(gpu());
    Array<int> x = ready_zeros<int>(s, 32);
    add<<<1, 5000>>>(x.data(), 1);
    const cudaError_t refused = cudaGetLastError();  // the driver determines which error this is
    REQUIRE(refused != cudaSuccess);
    const Error error = thrown_by([&] {
        with_native(s, [&](cudaStream_t native) { add<<<1, 5000, 0, native>>>(x.data(), 1); });
    });
    CHECK(error.native_code() == refused);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    CHECK(error_of([&] {
              with_native(s, [](cudaStream_t) { return cudaErrorNotReady; });
          })->native_code() == cudaErrorNotReady);
    add<<<1, 5000>>>(x.data(), 1);  // a failed launch of other code
    with_native(s, [&](cudaStream_t native) { add<<<1, 32, 0, native>>>(x.data(), 1); });
    CHECK(cudaGetLastError() == refused);
    const Reports reports;
    add<<<1, 5000, 0, borrow(s)>>>(x.data(), 1);
    CHECK(reports.count() == 1);
    CHECK(cudaGetLastError() == refused);
    CHECK(to_host(s, x) == Ints(32, 1));
}

CUDA_TEST_CASE("no handle is lent in host functions, for CPU streams, and of failed streams") {
    const Stream s(gpu()), cpu(cpu_device());
    std::optional<Error> in_function;
    launch_host(cpu, [&] { in_function = error_of([&] { with_native(s, [](cudaStream_t) {}); }); });
    cpu.synchronize();
    REQUIRE(in_function);
    CHECK(in_function->code() == ErrorCode::usage);
    CHECK(error_of([&] { with_native(cpu, [](cudaStream_t) {}); })->code() == ErrorCode::usage);
    CHECK(error_of([&] { (void)borrow(cpu); })->code() == ErrorCode::usage);
    poison(s);
    bool called = false;
    with_native(s, [&](cudaStream_t) { called = true; });
    CHECK_FALSE(called);
    CHECK(error_of([&] { (void)borrow(s); })->code() == ErrorCode::work_failed);
    CHECK(s.clear_error() != nullptr);
}

CUDA_TEST_CASE(
    "a lent handle that is wrapped is kept by somebody: the same stream, no elision any more") {
    const Stream s(gpu()), t(gpu());
    std::optional<Stream> wrapped;
    with_native(s, [&](cudaStream_t native) { wrapped.emplace(wrap_stream(native)); });
    CHECK(*wrapped == s);
    t.wait_stream(s);
    CHECK(waits_of([&] { t.wait_stream(s); }) == inserted);
}

CUDA_TEST_CASE("the checker knows the memory of a loan that was captured") {
    const Stream s(gpu()), t(gpu());
    Checked checked;
    Array<int> x = zeros<int>(s, 32);
    t.wait_stream(s);
    Graph graph = capture(s, [&] {
        with_native(
            s, [&](cudaStream_t native) { add<<<1, 32, 0, native>>>(x.data(), 1); }, writes(x));
    });
    graph.launch(s);
    SECTION("ordered") {
        t.wait_stream(s);
        fill(t, x, 2);
        checked.expect_silence();
    }
    SECTION("not ordered") {
        fill(t, x, 2);
        (void)checked.expect(check::RaceKind::write_after_write);
    }
    synchronize_device(gpu());
}

CUDA_TEST_CASE("other threads wait for the earlier work of a stream whose capture lends") {
    const Stream s(gpu()), t(gpu());
    Array<int> x = full<int>(s, 32, 1), seen = zeros<int>(t, 32);
    t.synchronize();
    Graph graph = capture(s, [&] {
        with_native(
            s,
            [&](cudaStream_t native) {
                add<<<1, 32, 0, native>>>(x.data(), 1);
                std::thread([&] {
                    synchronize_device(gpu());
                    CHECK(to_host(t, seen) == Ints(32, 0));
                }).join();
                twice<<<1, 32, 0, native>>>(x.data());
            },
            writes(x));
    });
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(32, 4));
}
