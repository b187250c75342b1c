// bench_costs on CUDA devices: raw CUDA calls. Also adds heddle's rows for __global__ functions.
#include <cstdint>
#include <memory>
#include <vector>

#include <heddle/cuda.hpp>

#include "costs/parts.hpp"
#include "raw_cuda.cuh"

using namespace heddle;

namespace bench {

namespace {

constexpr std::size_t large_bytes = 1 << 20;
constexpr int most_calls = 200;

__global__ void empty_kernel() {}
__global__ void empty_indexed(std::size_t) {}
__global__ void saxpy(std::size_t n, float a, const float* x, float* y) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void five_arguments(int n, float a, double b, const float* x, float* y) {
    if (static_cast<int>(threadIdx.x) < n)
        y[threadIdx.x] = a * x[threadIdx.x] + static_cast<float>(b);
}

__global__ void five_indexed(std::size_t count, int n, float a, double b, const float* x,
                             float* y) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count && static_cast<int>(i) < n) y[i] = a * x[i] + static_cast<float>(b);
}

void CUDART_CB do_nothing(void*) {}

void synchronize_device_of(Device device) {
    ok(cudaSetDevice(device.index()));
    synchronize_raw_device();
}

/// Returns a pool that caches freed memory, like heddle's pool. It is never destroyed, because its
/// memory may be in use until the process ends.
cudaMemPool_t keeping_pool(int device) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool = nullptr;
    ok(cudaMemPoolCreate(&pool, &properties));
    std::uint64_t all = UINT64_MAX;
    ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return pool;
}

/// Records one event, and waits for it.
void wait_by_hand(cudaStream_t waiter, cudaStream_t other, cudaEvent_t event) {
    ok(cudaEventRecord(event, other));
    ok(cudaStreamWaitEvent(waiter, event, 0));
}

/// Memory for the raw calls.
struct Buffers {
    float *x = nullptr, *y = nullptr, *host = nullptr;
    Buffers() {
        ok(cudaMalloc(&x, small_bytes));
        ok(cudaMalloc(&y, small_bytes));
        ok(cudaMallocHost(&host, small_bytes));
        ok(cudaMemset(x, 0, small_bytes));
        ok(cudaMemset(y, 0, small_bytes));
    }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    ~Buffers() {
        cudaFree(x);
        cudaFree(y);
        cudaFreeHost(host);
    }
};

/// Events. A kernel is launched before each one is recorded, so each marks later work than the
/// previous event.
struct Events {
    std::vector<cudaEvent_t> events{most_calls};
    Events() {
        for (cudaEvent_t& event : events)
            ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    ~Events() {
        for (cudaEvent_t event : events) cudaEventDestroy(event);
    }
};

}  // namespace

Peers cuda_peers(Device device) {
    ok(cudaSetDevice(device.index()));
    const auto raw = std::make_shared<Raw>();
    const auto memory = std::make_shared<Buffers>();
    const auto events = std::make_shared<Events>();
    const cudaMemPool_t pool = keeping_pool(device.index());
    ok(cudaEventRecord(raw->of_c, raw->c));
    const cudaStream_t a = raw->a, b = raw->b;
    float* const x = memory->x;
    float* const y = memory->y;
    float* const host = memory->host;

    Peers peers;
    const auto add = [&](const char* name, const char* what, std::function<void(int)> run,
                         std::function<void()> prepare = {}) {
        // The functions below share `raw`, `memory` and `events`, which are destroyed with the last
        // function.
        peers[name] = {what,
                       {.run = std::move(run),
                        .finish = [raw, memory, events, device] { synchronize_device_of(device); },
                        .prepare = std::move(prepare)}};
    };

    add(row::launch_empty, "<<<>>> of an equal kernel", repeat([=] {
            empty_indexed<<<1, 32, 0, a>>>(1);
            ok(cudaGetLastError());
        }));
    add(row::launch_five, "<<<>>> of an equal kernel", repeat([=] {
            five_indexed<<<1, 32, 0, a>>>(32, 32, 2.0f, 3.0, x, y);
            ok(cudaGetLastError());
        }));
    const auto saxpy_by_hand = repeat([=] {
        saxpy<<<1, 32, 0, a>>>(32, 2.0f, x, y);
        ok(cudaGetLastError());
    });
    add(row::launch_saxpy, "<<<>>> of an equal kernel", saxpy_by_hand);
    add(row::launch_current, "<<<>>> of an equal kernel", saxpy_by_hand);
    add(row::launch_synchronize, "<<<>>>, cudaStreamSynchronize", repeat([=] {
            empty_indexed<<<1, 32, 0, a>>>(1);
            ok(cudaGetLastError());
            ok(cudaStreamSynchronize(a));
        }));
    add(row::host_function, "cudaLaunchHostFunc",
        repeat([=] { ok(cudaLaunchHostFunc(raw->c, do_nothing, nullptr)); }));

    add(row::record, "cudaEventRecord", repeat([=] { ok(cudaEventRecord(raw->of_a, a)); }));
    add(row::record_new, "cudaEventRecord, event at hand",
        repeat([=] { ok(cudaEventRecord(raw->of_a, a)); }));
    add(row::wait_event, "cudaStreamWaitEvent", repeat([=](int i) {
            ok(cudaStreamWaitEvent(a, events->events[static_cast<std::size_t>(i)], 0));
        }),
        [=] {
            for (std::size_t i = 0; i < 100; ++i) {
                empty_indexed<<<1, 32, 0, b>>>(1);
                ok(cudaGetLastError());
                ok(cudaEventRecord(events->events[i], b));
            }
            ok(cudaStreamSynchronize(b));
        });
    add(row::wait_stream, "cudaEventRecord, cudaStreamWaitEvent", [=](int calls) {
        for (int i = 0; i < calls; i += 2) {
            wait_by_hand(a, b, raw->of_b);
            wait_by_hand(b, a, raw->of_a);
        }
    });
    add(row::wait_after_launch, "<<<>>>, cudaEventRecord, cudaStreamWaitEvent", repeat([=] {
            empty_indexed<<<1, 32, 0, b>>>(1);
            ok(cudaGetLastError());
            wait_by_hand(a, b, raw->of_b);
        }));
    add(row::fork_join, "the same by hand", repeat([=] {
            ok(cudaEventRecord(raw->of_a, a));
            for (const cudaStream_t branch : {b, raw->c}) {
                ok(cudaStreamWaitEvent(branch, raw->of_a, 0));
                empty_indexed<<<1, 32, 0, branch>>>(1);
                ok(cudaGetLastError());
            }
            wait_by_hand(a, b, raw->of_b);
            wait_by_hand(a, raw->c, raw->of_c);
        }));

    add(row::scope, "cudaEventRecord, cudaStreamWaitEvent",
        repeat([=] { wait_by_hand(b, a, raw->of_a); }));
    add(row::scope_both, "the same twice, by hand", repeat([=] {
            wait_by_hand(b, a, raw->of_a);
            wait_by_hand(a, b, raw->of_b);
        }));

    add(row::stream_query, "cudaStreamQuery", repeat([=] { ok(cudaStreamQuery(a)); }));
    add(row::event_query, "cudaEventQuery", repeat([=] { ok(cudaEventQuery(raw->of_c)); }));
    add(row::synchronize_idle, "cudaStreamSynchronize",
        repeat([=] { ok(cudaStreamSynchronize(a)); }));
    add(row::event_make, "cudaEventCreateWithFlags, cudaEventDestroy", repeat([] {
            cudaEvent_t event = nullptr;
            ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
            ok(cudaEventDestroy(event));
        }));
    for (const char* name : {row::stream_make, row::stream_lease})
        add(name, "cudaStreamCreateWithPriority, cudaStreamDestroy", repeat([] {
                cudaStream_t stream = nullptr;
                ok(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0));
                ok(cudaStreamDestroy(stream));
            }));

    const auto allocate = [=](std::size_t bytes) {
        return repeat([=] {
            void* data = nullptr;
            ok(cudaMallocFromPoolAsync(&data, bytes, pool, a));
            ok(cudaFreeAsync(data, a));
        });
    };
    add(row::array_small, "cudaMallocFromPoolAsync, cudaFreeAsync", allocate(small_bytes));
    add(row::array_large, "cudaMallocFromPoolAsync, cudaFreeAsync", allocate(large_bytes));
    add(row::copy_to_device, "cudaMemcpyAsync",
        repeat([=] { ok(cudaMemcpyAsync(x, host, small_bytes, cudaMemcpyHostToDevice, a)); }));
    add(row::copy_to_host, "cudaMemcpyAsync",
        repeat([=] { ok(cudaMemcpyAsync(host, x, small_bytes, cudaMemcpyDeviceToHost, a)); }));
    add(row::copy_on_device, "cudaMemcpyAsync",
        repeat([=] { ok(cudaMemcpyAsync(y, x, small_bytes, cudaMemcpyDeviceToDevice, a)); }));
    add(row::fill_float, "cudaMemsetAsync",
        repeat([=] { ok(cudaMemsetAsync(x, 1, small_bytes, a)); }));
    add(row::fill_zero, "cudaMemsetAsync",
        repeat([=] { ok(cudaMemsetAsync(x, 0, small_bytes, a)); }));
    return peers;
}

namespace {

void add_global_rows(Report& report, Device device) {
    const Stream s{device};
    const auto raw = std::make_shared<Raw>();
    Array<float> x = zeros<float>(s, 32), y = zeros<float>(s, 32);
    const Batches batches{.calls = 100, .pairs = 4000, .seconds = 2.0};
    const auto finish = [device] { synchronize_device_of(device); };
    const auto add = [&](const char* name, std::function<void(int)> heddle, const char* what,
                         std::function<void(int)> by_hand) {
        report.compare(name, device.name(), {std::move(heddle), finish},
                       {what, {std::move(by_hand), finish}}, batches);
    };
    const auto by_call = [&] {
        void* arguments[1] = {nullptr};
        ok(cudaLaunchKernel(reinterpret_cast<const void*>(&empty_kernel), dim3(1), dim3(1),
                            arguments, 0, raw->a));
    };
    const auto by_brackets = [&] {
        empty_kernel<<<1, 1, 0, raw->a>>>();
        ok(cudaGetLastError());
    };
    const auto explicit_launch = [&] { launch(s, empty_kernel, grid(1, 1)); };
    const char* const empty = "launch, __global__, no arguments";
    add(empty, repeat(explicit_launch), "cudaLaunchKernel", repeat(by_call));
    add(empty, repeat(explicit_launch), "<<<>>>", repeat(by_brackets));
    add("raw beside raw: <<<>>> and cudaLaunchKernel", repeat(by_brackets), "cudaLaunchKernel",
        repeat(by_call));

    float *const raw_x = x.data(), *const raw_y = y.data();
    const char* const five = "launch, __global__, 5 arguments";
    const auto five_launch = [&] { launch(s, five_arguments, grid(1, 32), 32, 2.0f, 3.0, x, y); };
    add(five, repeat(five_launch), "cudaLaunchKernel", repeat([&] {
            int n = 32;
            float a = 2.0f;
            double b = 3.0;
            const float* in = raw_x;
            float* out = raw_y;
            void* arguments[] = {&n, &a, &b, &in, &out};
            ok(cudaLaunchKernel(reinterpret_cast<const void*>(&five_arguments), dim3(1), dim3(32),
                                arguments, 0, raw->a));
        }));
    add(five, repeat(five_launch), "<<<>>>", repeat([&] {
            five_arguments<<<1, 32, 0, raw->a>>>(32, 2.0f, 3.0, raw_x, raw_y);
            ok(cudaGetLastError());
        }));
    {
        const ScopedStream in{s};
        add("launch, __global__, on the current stream",
            repeat([&] { launch(empty_kernel, grid(1, 1)); }), "cudaLaunchKernel", repeat(by_call));
    }
}

/// Adds rows for loans of a stream's handle: with a launch in each loan, and without launches.
void add_native_rows(Report& report, Device device) {
    const Stream s{device};
    const auto raw = std::make_shared<Raw>();
    const Side by_hand{repeat([&] {
                           empty_kernel<<<1, 1, 0, raw->a>>>();
                           ok(cudaGetLastError());
                       }),
                       [device] { synchronize_device_of(device); }};
    const auto add = [&](const char* name, std::function<void(int)> run, const Peer& peer,
                         const Batches& batches) {
        report.compare(name, device.name(), {std::move(run), by_hand.finish}, peer, batches);
    };
    const Batches batches{.calls = 100, .pairs = 4000, .seconds = 2.0};
    add("<<<>>> in with_native", repeat([&] {
            with_native(s, [](cudaStream_t native) { empty_kernel<<<1, 1, 0, native>>>(); });
        }),
        {"<<<>>>", by_hand}, batches);
    add("<<<>>> on borrow(stream)", repeat([&] { empty_kernel<<<1, 1, 0, borrow(s)>>>(); }),
        {"<<<>>>", by_hand}, batches);
    add("with_native of an empty function", repeat([&] { with_native(s, [](cudaStream_t) {}); }),
        {}, {.calls = 2000, .pairs = 1000, .seconds = 0.5});
}

}  // namespace

Peers cuda_peers_of_two(Device near, Device far) {
    ok(cudaSetDevice(far.index()));
    const auto there = std::make_shared<Raw>();
    ok(cudaSetDevice(near.index()));
    const auto here = std::make_shared<Raw>();
    const auto finish = [near, far, here, there] {
        synchronize_device_of(far);
        synchronize_device_of(near);
    };
    Peers peers;
    peers[row::far_wait] = {"cudaEventRecord, cudaStreamWaitEvent",
                            {[=](int calls) {
                                 for (int i = 0; i < calls; i += 2) {
                                     wait_by_hand(here->a, there->a, there->of_a);
                                     wait_by_hand(there->a, here->a, here->of_a);
                                 }
                             },
                             finish}};
    peers[row::far_launch] = {"<<<>>> of an equal kernel",
                              {repeat([=] {
                                   empty_indexed<<<1, 32, 0, there->a>>>(1);
                                   ok(cudaGetLastError());
                               }),
                               finish}};
    peers[row::far_scope] = {"cudaSetDevice, cudaEventRecord, cudaStreamWaitEvent, cudaSetDevice",
                             {repeat([=] {
                                  ok(cudaSetDevice(far.index()));
                                  wait_by_hand(there->b, there->a, there->of_a);
                                  ok(cudaSetDevice(near.index()));
                              }),
                              finish}};
    peers[row::far_scope_both] = {"the same with both waits, by hand",
                                  {repeat([=] {
                                       ok(cudaSetDevice(far.index()));
                                       wait_by_hand(there->b, there->a, there->of_a);
                                       wait_by_hand(there->a, there->b, there->of_b);
                                       ok(cudaSetDevice(near.index()));
                                   }),
                                   finish}};
    return peers;
}

void add_cuda_rows(Report& report, Device device) {
    ok(cudaSetDevice(device.index()));
    report.attempt("__global__ rows", [&] { add_global_rows(report, device); });
    report.attempt("native rows", [&] { add_native_rows(report, device); });
    report.attempt("adopted memory", [&] { add_adopted_cuda_rows(report, device); });
}

}  // namespace bench
