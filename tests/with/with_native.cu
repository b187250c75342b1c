// A borrowed handle: one operation, and elision goes on.
#include "want.hpp"

#include <heddle/by_data.hpp>
#include <heddle/cuda.hpp>

#include <vector>

using namespace heddle;

__global__ void add(float* x, int n, float a) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] += a;
}
__global__ void slowly(float* x, int n, long long cycles) {
    const long long end = clock64() + cycles;
    while (clock64() < end) {}
    for (int i = 0; i < n; ++i) x[i] = 7;
}
struct Ops final : Observer {
    std::vector<OpKind> kinds;
    std::size_t accesses = 0;
    void on_op(const OpInfo& op) noexcept override {
        kinds.push_back(op.kind), accesses += op.accesses.size();
    }
};

int main() {
    try {  // no GPU is needed for this
        bool called = false;
        const Stream cpu{Device("cpu")};
        try {
            with_native(cpu, [&](cudaStream_t) { called = true; });
            want(false, "a CPU stream has no handle");
        } catch (const UsageError&) {}
        want(!called, "the function is not called for a CPU stream");
    } catch (...) {
        want(false, "UsageError");
    }
    if (device_count(DeviceKind::cuda) == 0) return bad != 0 ? 1 : 77;
    const Device device("cuda:0");
    const int n = 1000;
    Stream s{device}, t{device};
    Array<float> x = zeros<float>(s, n);

    // Elision: a wait, its repetition, a borrow, a wait again.
    (void)stats();
    t.wait_stream(s);
    OpStats before = stats();
    t.wait_stream(s);
    want(stats().waits_elided == before.waits_elided + 1, "elided before");
    with_native(s, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(x.data(), n, 1); }, writes(x));
    before = stats();
    t.wait_stream(s);
    want(stats().waits_inserted == before.waits_inserted + 1, "the native work is waited for");
    before = stats();
    t.wait_stream(s);
    want(stats().waits_elided == before.waits_elided + 1, "elision goes on after a borrow");

    // Inside of the call: who knows of the work waits for it, however often it waited before.
    with_native(
        s,
        [&](cudaStream_t h) {
            t.wait_stream(s);
            add<<<4, 256, 0, h>>>(x.data(), n, 1);
            before = stats();
            t.wait_stream(s);
            want(stats().waits_inserted == before.waits_inserted + 1, "a wait inside the call");
            add<<<4, 256, 0, h>>>(x.data(), n, -1);
        },
        writes(x));
    before = stats();
    t.wait_stream(s);
    want(stats().waits_inserted == before.waits_inserted + 1, "what came after that wait");
    // Memory freed inside of the call goes to no stream that waited before.
    const void* freed = nullptr;
    with_native(s, [&](cudaStream_t h) {
        Array<float> temporary(s, 5000);
        freed = temporary.data();
        slowly<<<1, 1, 0, h>>>(temporary.data(), 5000, 100000000);
    });
    {
        Array<float> other = full<float>(t, 5000, 1.0f);
        want(other.data() != freed, "memory that native work still uses");
        want(to_host(t, other)[17] == 1.0f, "nobody else writes it");
    }
    t.wait_stream(s);

    // The form for one expression.
    add<<<4, 256, 0, borrow(s, writes(x))>>>(x.data(), n, 1);
    before = stats();
    t.wait_stream(s), t.wait_stream(s);
    want(stats().waits_inserted == before.waits_inserted + 1 &&
             stats().waits_elided == before.waits_elided + 1,
         "borrow() counts once");

    // One operation for observers, with its accesses.
    Ops ops;
    add_observer(ops);
    with_native(
        s,
        [&](cudaStream_t h) {
            add<<<4, 256, 0, h>>>(x.data(), n, 1), add<<<4, 256, 0, h>>>(x.data(), n, 1);
        },
        writes(x));
    remove_observer(ops);
    want(ops.kinds.size() == 1 && ops.accesses == 1, "one operation, one access");
    want(to_host(s, x)[n - 1] == 4.0f, "all ran");

    // Identity: whoever wraps a borrowed handle gets the same stream; then others hold it.
    with_native(s, [&](cudaStream_t h) { want(wrap_stream(h) == s, "the same stream"); });

    // An exception: what was enqueued until then counts, and the exception is passed on.
    Stream u{device};
    t.wait_stream(u);
    try {
        with_native(u, [&](cudaStream_t h) {
            add<<<4, 256, 0, h>>>(x.data(), n, 1);
            throw 7;
        });
    } catch (int) {}
    before = stats();
    t.wait_stream(u);
    want(stats().waits_inserted == before.waits_inserted + 1, "counted in spite of the exception");
    // A launch that fails is told at once, and not blamed on a later call.
    try {
        with_native(u, [&](cudaStream_t h) { add<<<4, 5000, 0, h>>>(x.data(), n, 1); });
        want(false, "an impossible launch is told");
    } catch (const Error&) {}
    launch(u, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] += 1; }, dim(n), x);

    // Dropped on a poisoned stream.
    launch_host(u, [] { throw 1; });
    try {
        u.synchronize();
    } catch (...) {}
    bool called = false;
    with_native(u, [&](cudaStream_t) { called = true; });
    want(!called, "dropped on a poisoned stream");
    (void)u.clear_error();

    // A capture: one node for each borrow, and nothing native stays open.
    Array<float> y = zeros<float>(u, n);
    u.synchronize();
    Graph graph;
    {
        ScopedCapture capture{u};
        with_native(u, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(y.data(), n, 2); }, writes(y));
        launch(u, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] *= 3; }, dim(n), y);
        graph = capture.end();
    }
    graph.launch(u), graph.launch(u);
    want(to_host(u, y)[5] == 24.0f, "(0 + 2) * 3, (6 + 2) * 3");
    before = stats();
    t.wait_stream(u), t.wait_stream(u);
    want(stats().waits_elided == before.waits_elided + 1, "elided after a capture");

    // A batch is sent first and goes on.
    {
        Batch batch;
        ScopedBatch in{batch, u};
        launch(u, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] = 1; }, dim(n), y);
        with_native(u, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(y.data(), n, 1); }, writes(y));
        launch(u, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] *= 5; }, dim(n), y);
    }
    want(to_host(u, y)[5] == 10.0f, "in the order of the calls");

    // By data.
    {
        order_by_data order{device};
        fill(order, y, 1.0f);
        with_native(
            order, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(y.data(), n, 1); }, writes(y));
        want(to_host(order, y)[5] == 2.0f, "ordered by data");
    }
    return bad != 0;
}
