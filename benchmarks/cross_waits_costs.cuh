// Section E of bench_cross_waits.cu: what single calls cost the host, and which wait for a busy device.
#pragma once

#include "cross_waits_tools.cuh"

/// Prints the median host time of one call, over `batches` batches with a drained device between them.
template <class Function>
void cost(Bench& bench, const char* name, const Function& function, int calls = 100, int batches = 25) {
    phase("%s", name);
    std::vector<double> samples;
    for (int batch = 0; batch < times(batches); ++batch) {
        const std::int64_t begin = now();
        for (int i = 0; i < calls; ++i) function();
        samples.push_back(us_since(begin) * 1e3 / calls);
        check(cudaStreamSynchronize(bench.notifier));
    }
    std::printf("  %-70s %10.0f ns\n", name, median(samples));
    row(name, median(samples), "ns");
}

/// Makes the call while a kernel runs on the source stream: does it return before the kernel ends?
template <class Function> void under_gate(Bench& bench, const char* name, const Function& function) {
    phase("%s, beside a running kernel", name);
    bench.gate.close(bench.source);
    const auto call = call_in_thread(function, 0.3);
    const bool early = call->returned;
    bench.gate.open();
    if (!until([&] { return call->returned.load(); }, 3)) fail("did not return even then");
    check(cudaStreamSynchronize(bench.source));
    std::printf("  %-70s %10.1f us %s\n", name, early ? call->us : NAN,
                early ? name_of(static_cast<cudaError_t>(call->code)) : "BLOCKED until the kernel ended");
    if (early) row(std::string(name) + ", beside a running kernel", call->us, "µs");
}

void cost_of_queries(Bench& bench) {
    cudaEvent_t done = make_event(), pending = make_event();
    cudaStream_t busy = make_stream(), idle = bench.notifier;
    check(cudaEventRecord(done, idle));
    check(cudaStreamSynchronize(idle));
    bench.gate.close(busy);
    check(cudaEventRecord(pending, busy));
    cost(bench, "cudaStreamQuery, idle", [&] { (void)cudaStreamQuery(idle); });
    cost(bench, "cudaStreamQuery, busy", [&] { (void)cudaStreamQuery(busy); });
    cost(bench, "cudaEventQuery, complete", [&] { (void)cudaEventQuery(done); });
    cost(bench, "cudaEventQuery, not complete", [&] { (void)cudaEventQuery(pending); });
    const auto launch = [&] { empty_kernel<<<1, 1, 0, idle>>>(); };
    const auto pair = [&] { check(cudaEventRecord(done, idle)), check(cudaStreamWaitEvent(idle, done)); };
    cost(bench, "empty kernel", launch);
    cost(bench, "record + wait", pair);
    static std::atomic<bool> stop{false}, stopped{false};
    std::thread([pending] {
        while (!stop) (void)cudaEventQuery(pending);
        stopped = true;
    }).detach();
    cost(bench, "empty kernel, while a thread polls cudaEventQuery", launch);
    cost(bench, "record + wait, while a thread polls cudaEventQuery", pair);
    stop = true;
    bench.gate.open();
    check(cudaStreamSynchronize(busy));
    if (!until([] { return stopped.load(); }, 1)) fail("the polling thread did not stop");
}

void section_e() {
    static Bench bench;
    static cudaStream_t stream = bench.notifier, second = make_stream();
    static void* memory = nullptr;
    static Word* pinned = bench.words.take();
    static cudaEvent_t event = make_event();
    check(cudaMalloc(&memory, 4096));
    cost_of_queries(bench);
    cost(bench, "cudaEventRecord", [] { check(cudaEventRecord(event, stream)); });
    cost(bench, "cudaStreamIsCapturing", [] {
        cudaStreamCaptureStatus status;
        check(cudaStreamIsCapturing(stream, &status));
    });
    cost(bench, "cudaStreamGetCaptureInfo", [] {
        cudaStreamCaptureStatus status;
        unsigned long long id;
        check(cudaStreamGetCaptureInfo(stream, &status, &id));
    });
    cost(bench, "cudaStreamGetId", [] {
        unsigned long long id;
        check(cudaStreamGetId(stream, &id));
    });
    cost(bench, "cudaStreamGetDevice", [] {
        int device;
        check(cudaStreamGetDevice(stream, &device));
    });
    cost(bench, "cudaPointerGetAttributes, device memory", [] {
        cudaPointerAttributes attributes;
        check(cudaPointerGetAttributes(&attributes, memory));
    });
    cost(bench, "cudaPointerGetAttributes, pageable memory", [] {
        cudaPointerAttributes attributes;
        check(cudaPointerGetAttributes(&attributes, &event));
    });
    cost(bench, "cudaThreadExchangeStreamCaptureMode, there and back", [] {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        check(cudaThreadExchangeStreamCaptureMode(&mode));
        check(cudaThreadExchangeStreamCaptureMode(&mode));
    });
    cost(bench, "cudaMemcpyAsync, pinned to device, 64 B",
         [] { check(cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, stream)); });
    static cudaMemPool_t pool = make_pool();
    static const auto pool_pair = [](std::size_t bytes, cudaStream_t on) {
        void* p;
        const cudaError_t code = cudaMallocFromPoolAsync(&p, bytes, pool, on);
        return code == cudaSuccess ? cudaFreeAsync(p, on) : code;
    };
    cost(bench, "cudaMallocFromPoolAsync + cudaFreeAsync, own pool, 1 MB",
         [] { check(pool_pair(1 << 20, stream)); });

    static const auto event_pair = [] {
        cudaEvent_t e;
        const cudaError_t code = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        return code == cudaSuccess ? cudaEventDestroy(e) : code;
    };
    static const auto stream_pair = [] {
        cudaStream_t s;
        const cudaError_t code = cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -1);
        return code == cudaSuccess ? cudaStreamDestroy(s) : code;
    };
    static void* host = nullptr;
    cost(bench, "cudaEventCreateWithFlags + cudaEventDestroy", [] { check(event_pair()); });
    cost(
        bench, "cudaStreamCreateWithPriority + cudaStreamDestroy", [] { check(stream_pair()); }, 10, 15);
    for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{4} << 20}) {
        cost(
            bench, bytes >> 20 ? "cudaHostAlloc + cudaFreeHost, 4 MB" : "cudaHostAlloc + cudaFreeHost, 64 KB",
            [=] {
                check(cudaHostAlloc(&host, bytes, cudaHostAllocDefault));
                check(cudaFreeHost(host));
            },
            1, 15);
    }
    std::printf("  beside a running kernel on another stream, one call each:\n");
    under_gate(bench, "cudaEventCreateWithFlags + cudaEventDestroy", event_pair);
    under_gate(bench, "cudaStreamCreateWithPriority + cudaStreamDestroy", stream_pair);
    under_gate(bench, "cudaStreamDestroy, idle stream", [] { return cudaStreamDestroy(second); });
    under_gate(bench, "cudaHostAlloc, 64 KB", [] { return cudaHostAlloc(&host, 64 << 10, 0); });
    under_gate(bench, "cudaFreeHost, 64 KB", [] { return cudaFreeHost(host); });
    under_gate(bench, "cudaHostAlloc, 4 MB", [] { return cudaHostAlloc(&host, 4 << 20, 0); });
    under_gate(bench, "cudaFreeHost, 4 MB", [] { return cudaFreeHost(host); });
    under_gate(bench, "cudaMallocFromPoolAsync + cudaFreeAsync, 1 MB, warm",
               [] { return pool_pair(1 << 20, stream); });
    under_gate(bench, "cudaMallocFromPoolAsync + cudaFreeAsync, 256 MB, grows",
               [] { return pool_pair(256 << 20, stream); });
    under_gate(bench, "cudaMalloc, 1 MB", [] { return cudaMalloc(&memory, 1 << 20); });
    under_gate(bench, "cudaFree, 1 MB", [] { return cudaFree(memory); });
}
