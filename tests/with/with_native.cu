// heddle with native CUDA calls: work on a lent handle counts as one operation, and later waits can
// still be elided.
#include "want.hpp"

#include <heddle/by_data.hpp>
#include <heddle/cuda.hpp>

#include <vector>

using namespace heddle;

namespace {

constexpr int n = 1000;

__global__ void add(float* x, float a) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] += a;
}

struct Times {
    float factor;
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] *= factor; }
};

struct Ops final : Observer {
    std::vector<OpKind> kinds;
    std::size_t accesses = 0;
    void on_op(const OpInfo& op) noexcept override {
        kinds.push_back(op.kind), accesses += op.accesses.size();
    }
};

Device gpu() { return Device("cuda:0"); }

void refuse_cpu_streams() {
    const Stream cpu{Device("cpu")};
    bool called = false, is_refused = false;
    try {
        with_native(cpu, [&](cudaStream_t) { called = true; });
    } catch (const UsageError&) {
        is_refused = true;
    }
    want(is_refused && !called, "a CPU stream has no handle");
}

void elide() {
    const Stream s{gpu()}, t{gpu()};
    Array<float> x = zeros<float>(s, n);
    t.wait_stream(s);
    with_native(s, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(x.data(), 1); }, writes(x));
    want_one_wait(t, s, "the native work is waited for");
    add<<<4, 256, 0, borrow(s, writes(x))>>>(x.data(), 1);
    want_one_wait(t, s, "borrow() counts once");
    with_native(
        s,
        [&](cudaStream_t h) {
            const OpCounter counter;
            t.wait_stream(s);
            add<<<4, 256, 0, h>>>(x.data(), 1);
            t.wait_stream(s);
            want(counter.stats().waits_inserted == 2, "waits inside the call");
            add<<<4, 256, 0, h>>>(x.data(), 1);
        },
        writes(x));
    want_one_wait(t, s, "the rest of the call is waited for");
    want(to_host(t, x)[n - 1] == 4, "all of it has run");
}

void free_inside() {
    const Stream s{gpu()}, t{gpu()};
    launch_host(s, [] {});
    t.wait_stream(s);
    const void* freed = nullptr;
    with_native(s, [&](cudaStream_t h) {
        Array<float> temporary(s, 5000);
        freed = temporary.data();
        add<<<4, 256, 0, h>>>(temporary.data(), 1);
    });
    const Array<float> other = full<float>(t, 5000, 1.0f);
    want(other.data() != freed, "t does not get memory that native work on s may still use");
}

void observe() {
    const Stream s{gpu()};
    Array<float> x = zeros<float>(s, n);
    Ops ops;
    add_observer(ops);
    with_native(
        s,
        [&](cudaStream_t h) {
            add<<<4, 256, 0, h>>>(x.data(), 1);
            add<<<4, 256, 0, h>>>(x.data(), 1);
        },
        writes(x));
    remove_observer(ops);
    want(ops.kinds == std::vector{OpKind::native} && ops.accesses == 1,
         "one operation, one access");
    want(to_host(s, x)[n - 1] == 2, "both kernels have run");
}

void fail() {
    const Stream s{gpu()}, t{gpu()};
    Array<float> x = zeros<float>(s, n);
    t.wait_stream(s);
    try {
        with_native(s, [&](cudaStream_t h) {
            add<<<4, 256, 0, h>>>(x.data(), 1);
            throw 7;
        });
    } catch (int) {}
    want_one_wait(t, s, "work before an exception counts");
    bool is_thrown = false;
    try {
        with_native(s, [&](cudaStream_t h) { add<<<4, 5000, 0, h>>>(x.data(), 1); });
    } catch (const Error&) {
        is_thrown = true;
    }
    want(is_thrown, "an impossible launch is thrown by the call that makes it");
    launch(s, Times{2}, dim(n), x);  // does not throw the earlier error
    launch_host(s, [] { throw 1; });
    try {
        s.synchronize();
    } catch (const Error&) {}
    bool called = false;
    with_native(s, [&](cudaStream_t) { called = true; });
    want(!called, "dropped on a failed stream");
    (void)s.clear_error();
}

void record() {
    const Stream s{gpu()}, t{gpu()};
    Array<float> x = zeros<float>(s, n);
    const auto add_two = [&] {
        with_native(s, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(x.data(), 2); }, writes(x));
    };
    s.synchronize();
    Graph graph = capture(s, [&] {
        add_two();
        launch(s, Times{3}, dim(n), x);
    });
    graph.launch(s), graph.launch(s);
    want(to_host(s, x)[5] == 24, "captured: (0 + 2) * 3, (6 + 2) * 3");
    want_one_wait(t, s, "a wait for graphs with native work");
    Batch batch;
    {
        ScopedBatch in{batch, s};
        launch(s, Times{0}, dim(n), x);
        add_two();
        launch(s, Times{5}, dim(n), x);
    }
    want(to_host(s, x)[5] == 10, "in a batch, in the order of the calls");
}

void order_data() {
    DataOrder order{gpu()};
    Array<float> x = zeros<float>(n);
    fill(order, x, 1.0f);
    with_native(order, [&](cudaStream_t h) { add<<<4, 256, 0, h>>>(x.data(), 1); }, writes(x));
    want(to_host(order, x)[5] == 2, "ordered by data");
}

}  // namespace

int main() {
    refuse_cpu_streams();
    if (device_count(DeviceKind::cuda) == 0) return bad != 0 ? 1 : 77;
    const ScopedDevice on{gpu()};
    const OpCounter counting;
    elide();
    free_inside();
    observe();
    fail();
    record();
    order_data();
    return bad != 0;
}
