// Native handles that are wrapped or exported, and captures that other code has begun.
#include "../support.hpp"

#include <heddle/cuda.hpp>
#include <heddle/with/native.hpp>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

/// A native stream that heddle did not create.
struct Native {
    cudaStream_t handle = nullptr;
    Native() {
        check_cuda(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags");
    }
    ~Native() { cudaStreamDestroy(handle); }
    Native(const Native&) = delete;
};

/// A capture that was begun natively on a stream. The destructor ends it if it is still open.
struct Capture {
    explicit Capture(cudaStream_t stream) : stream_(stream) {
        check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed),
                   "cudaStreamBeginCapture");
    }
    ~Capture() {
        if (stream_ != nullptr) end();
        if (graph != nullptr) cudaGraphDestroy(graph);
    }
    cudaError_t end() { return cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph); }
    std::size_t nodes() const {
        std::size_t n = 0;
        check_cuda(cudaGraphGetNodes(graph, nullptr, &n), "cudaGraphGetNodes");
        return n;
    }
    cudaGraph_t graph = nullptr;

private:
    cudaStream_t stream_;
};

}  // namespace

CUDA_TEST_CASE("a wrapped stream is the native stream") {
    const Native native;
    const Stream s = wrap_stream(native.handle);
    CHECK(s.device() == gpu());
    CHECK(native_handle(s) == native.handle);
    Array<int> x = zeros<int>(s, 32);
    add<<<1, 32, 0, native.handle>>>(x.data(), 5);
    launch(s, add, grid(1, 32), x, 1);
    CHECK(to_host(s, x) == std::vector<int>(32, 6));
}

CUDA_TEST_CASE("two wrappers of one native stream are the same stream") {
    const Native native, other;
    const Stream a = wrap_stream(native.handle), b = wrap_stream(native.handle, gpu()),
                 c = wrap_stream(other.handle);
    CHECK(a == b);
    CHECK(a.id() == b.id());
    CHECK_FALSE(a == c);
}

CUDA_TEST_CASE("one of two wrappers may go, the other stays good") {
    const Native native;
    const Stream a = wrap_stream(native.handle);
    { const Stream b = wrap_stream(native.handle); }
    launch_host(a, [] {});
    a.synchronize();
    CHECK(static_cast<bool>(a));
}

CUDA_TEST_CASE("destroying a wrapper leaves the native stream alone") {
    const Native native;
    { const Stream s = wrap_stream(native.handle); }
    CHECK(cudaStreamSynchronize(native.handle) == cudaSuccess);
    const Stream again = wrap_stream(native.handle);
    launch_host(again, [] {});
    again.synchronize();
}

CUDA_TEST_CASE("the stream that heddle made wraps to itself") {
    const Stream s(gpu());
    const Stream wrapped = wrap_stream(native_handle(s));
    CHECK(wrapped == s);
}

CUDA_TEST_CASE("CUDA's default streams can be wrapped") {
    for (cudaStream_t native : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
        const Stream s = wrap_stream(native, gpu());
        CHECK(s.device() == gpu());
        Array<int> x = zeros<int>(s, 32);
        launch(s, add, grid(1, 32), x, 3);
        CHECK(to_host(s, x) == std::vector<int>(32, 3));
        const Stream own(gpu());
        own.wait_stream(s);
        s.wait_stream(own);
        s.synchronize();
    }
}

CUDA_TEST_CASE("a wait on a stream whose handle was handed out is never elided") {
    const Stream a(gpu()), b(gpu());
    launch_host(b, [] {});
    a.wait_stream(b);
    (void)native_handle(b);
    for (int i = 0; i < 3; ++i) {
        const OpCounter counted;
        a.wait_stream(b);
        CHECK(counted.stats().waits_inserted == 1);
        CHECK(counted.stats().waits_elided == 0);
    }
}

CUDA_TEST_CASE("work that others gave to a handed-out stream is waited for") {
    DrainedGate gate;
    const Stream a(gpu()), b(gpu());
    Array<int> x = ready_zeros<int>(b, 32);
    const cudaStream_t native = native_handle(b);
    gate.hold(b);
    a.wait_stream(b);
    add<<<1, 32, 0, native>>>(x.data(), 5);
    a.wait_stream(b);
    launch(a, add, grid(1, 32), x, 1);
    gate.open();
    CHECK(to_host(a, x) == std::vector<int>(32, 6));
}

CUDA_TEST_CASE("a stream of heddle's is not ordered with the legacy default stream") {
    const Stream s(gpu());
    unsigned flags = 0;
    check_cuda(cudaStreamGetFlags(native_handle(s), &flags), "cudaStreamGetFlags");
    CHECK(flags == cudaStreamNonBlocking);
    // Lent only: other cases capture the default stream, which must not be handed out for good.
    with_native(default_stream(gpu()), [&](cudaStream_t native) {
        check_cuda(cudaStreamGetFlags(native, &flags), "cudaStreamGetFlags");
    });
    CHECK(flags == cudaStreamNonBlocking);
}

CUDA_TEST_CASE("a native event goes in and out") {
    DrainedGate gate;
    const Stream a(gpu()), b(gpu());
    gate.hold(a);
    launch_host(a, [] {});
    const Event ours = a.record_event();
    CHECK(cudaEventQuery(native_handle(ours)) == cudaErrorNotReady);

    cudaEvent_t theirs = nullptr;
    check_cuda(cudaEventCreateWithFlags(&theirs, cudaEventDisableTiming),
               "cudaEventCreateWithFlags");
    check_cuda(cudaEventRecord(theirs, native_handle(a)), "cudaEventRecord");
    {
        const Event wrapped = wrap_event(theirs, gpu());
        CHECK(wrapped.is_recorded());
        CHECK_FALSE(wrapped.is_complete());
        b.wait_event(wrapped);
        launch_host(b, [] {});
        CHECK_FALSE(b.is_complete());
        gate.open();
        wrapped.synchronize();
    }
    CHECK(cudaEventQuery(theirs) == cudaSuccess);  // the wrapper has not destroyed it
    cudaEventDestroy(theirs);
    b.synchronize();
}

CUDA_TEST_CASE("scopes and forks work inside a capture that others began") {
    const Native native;
    const Stream s = wrap_stream(native.handle);
    const Stream inner(gpu());
    Array<int> x = zeros<int>(s, 32), y = zeros<int>(s, 32);
    s.synchronize();
    Capture capture(native.handle);
    CHECK(s.is_capturing());
    {
        const ScopedStream in{s, {.wait_on_enter = false}};
        launch(add, grid(1, 32), x, 1);
        {
            const ScopedStream forked{inner, {.wait_on_enter = true, .wait_on_exit = true}};
            CHECK(inner.is_capturing());
            launch(add, grid(1, 32), x, 2);
        }
        fork_join([&] { launch(add, grid(1, 32), x, 3); }, [&] { launch(add, grid(1, 32), y, 4); });
    }
    REQUIRE(capture.end() == cudaSuccess);
    CHECK(capture.nodes() == 4);
    CHECK_FALSE(s.is_capturing());
    CHECK_FALSE(inner.is_capturing());

    cudaGraphExec_t exec = nullptr;
    check_cuda(cudaGraphInstantiate(&exec, capture.graph, 0), "cudaGraphInstantiate");
    check_cuda(cudaGraphLaunch(exec, native.handle), "cudaGraphLaunch");
    CHECK(to_host(s, x) == std::vector<int>(32, 6));
    CHECK(to_host(s, y) == std::vector<int>(32, 4));
    cudaGraphExecDestroy(exec);
}

CUDA_TEST_CASE(
    "a scope that would tie a capture to a stream outside it is refused, and the capture is "
    "not spoiled") {
    const Native native;
    const Stream s = wrap_stream(native.handle), outside(gpu()), inside(gpu());
    Array<int> x = zeros<int>(outside, 32);
    launch_host(outside, [] {});
    outside.synchronize();
    launch_host(outside, [] {});
    Capture capture(native.handle);
    {
        const ScopedStream in_outside{outside, {.wait_on_enter = false}};
        CHECK(thrown_by([&] { const ScopedStream in{s}; }).code() == ErrorCode::usage);
        CHECK(current_stream() == outside);  // the stream was not entered
    }
    CHECK_THROWS_AS(s.wait_stream(outside), UsageError);
    CHECK_THROWS_AS(s.wait_event(outside.record_event()), UsageError);
    launch(s, add, grid(1, 32), x, 1);
    REQUIRE(capture.end() == cudaSuccess);
    CHECK(capture.nodes() == 1);
    outside.synchronize();
}

CUDA_TEST_CASE("what was known before a capture elides no wait in it") {
    const Native native;
    const Stream s = wrap_stream(native.handle), other(gpu());
    Array<int> x = zeros<int>(s, 32);
    other.wait_stream(s);
    other.wait_stream(s);
    s.synchronize();
    other.synchronize();
    Capture capture(native.handle);
    const OpCounter counted;
    other.wait_stream(s);  // makes `other` a part of the capture
    CHECK(counted.stats().waits_elided == 0);
    CHECK(other.is_capturing());
    launch(other, add, grid(1, 32), x, 1);
    s.wait_stream(other);
    REQUIRE(capture.end() == cudaSuccess);
    CHECK(capture.nodes() == 1);
}

CUDA_TEST_CASE("host waits on a capturing stream are refused, and the capture is not spoiled") {
    const Native native;
    const Stream s = wrap_stream(native.handle);
    Array<int> x = ready_zeros<int>(s, 32);
    const Stream elsewhere(gpu());
    Capture capture(native.handle);
    CHECK_THROWS_AS(s.synchronize(), UsageError);
    CHECK_THROWS_AS(s.is_complete(), UsageError);
    CHECK_THROWS_AS(to_host(s, x), UsageError);
    launch_host(elsewhere, [] {});
    elsewhere.synchronize();  // streams outside the capture are unaffected
    launch(s, add, grid(1, 32), x, 1);
    const Event recorded = s.record_event();
    CHECK_THROWS_AS(recorded.synchronize(), UsageError);
    REQUIRE(capture.end() == cudaSuccess);
}
