// The sections of bench_cross_waits.cu that ask what happens, not how long it takes: C, D, F, G and H.
#pragma once

#include "cross_waits_tools.cuh"

// --- C: how many streams can wait before an unrelated one cannot run ---------------------------------------

inline void print_ran(const char* what, bool ran) {
    std::printf("    %-58s %s\n", what, ran ? "runs" : "BLOCKED");
}

/// Which kinds of work on new streams still run, while `blocked` streams wait.
inline void section_c_after(Bench& bench, int blocked, void* on_device) {
    constexpr int further = 16;
    std::vector<Word*> flags;
    phase("kernels on %d further streams beside %d blocked ones", further, blocked);
    for (int i = 0; i < further; ++i) {
        flags.push_back(bench.words.take());
        set_flag(make_stream(), flags.back(), 1);
    }
    int ran = 0;
    until(
        [&] {
            ran = static_cast<int>(
                std::count_if(flags.begin(), flags.end(), [](Word* f) { return load(f) == 1; }));
            return ran == further;
        },
        0.3);
    std::printf("    kernels on %d further new streams: %d run\n", further, ran);

    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    phase("a high-priority stream beside %d blocked ones", blocked);
    Word* high = bench.words.take();
    set_flag(make_stream(greatest), high, 1);
    print_ran("kernel, new stream of the highest priority", until([&] { return load(high) == 1; }, 0.3));

    phase("a copy beside %d blocked streams", blocked);
    cudaStream_t copying = make_stream();
    check(cudaMemcpyAsync(on_device, bench.words.take(), 64, cudaMemcpyHostToDevice, copying));
    print_ran("pinned copy to the device, new stream",
              until([&] { return cudaStreamQuery(copying) == cudaSuccess; }, 0.3));

    phase("a host function beside %d blocked streams", blocked);
    static std::atomic<bool> called{false};
    check(cudaLaunchHostFunc(
        make_stream(), [](void*) { called = true; }, nullptr));
    print_ran("host function, new stream", until([&] { return called.load(); }, 0.3));

    phase("an event beside %d blocked streams", blocked);
    cudaEvent_t event = make_event();
    check(cudaEventRecord(event, make_stream()));
    print_ran("event recorded on a new, empty stream",
              until([&] { return cudaEventQuery(event) == cudaSuccess; }, 0.3));

    phase("a kernel on the legacy default stream beside %d blocked streams", blocked);
    Word* legacy = bench.words.take();
    set_flag(cudaStreamLegacy, legacy, 1);
    print_ran("kernel, legacy default stream", until([&] { return load(legacy) == 1; }, 0.3));
}

inline void section_c(bool by_event) {
    Bench bench;
    constexpr int most = 128;
    Word* word = bench.words.take();
    void* on_device = nullptr;
    check(cudaMalloc(&on_device, 64));
    check(cudaMemcpyAsync(on_device, word, 64, cudaMemcpyHostToDevice, bench.source));
    bench.settle();
    cudaStream_t old = make_stream();  // made first, used once, then idle
    Word* old_flag = bench.words.take();
    set_flag(old, old_flag, 1);
    check(cudaStreamSynchronize(old));
    cudaEvent_t behind_gate = make_event();
    if (by_event) {
        bench.gate.close(bench.source, 16);
        check(cudaEventRecord(behind_gate, bench.source));
    }
    int fresh_blocked_at = -1, old_blocked_at = -1, blocked = 0;
    std::vector<cudaStream_t> streams;
    for (; blocked <= most; ++blocked) {
        phase("an old stream beside %d blocked ones", blocked);
        if (old_blocked_at < 0) {
            set_flag(old, old_flag, static_cast<Word>(blocked) + 2);
            if (!until([&] { return load(old_flag) == static_cast<Word>(blocked) + 2; }, 0.5))
                old_blocked_at = blocked;
        }
        phase("a new stream beside %d blocked ones", blocked);
        cudaStream_t fresh = make_stream();
        Word* flag = bench.words.take();
        set_flag(fresh, flag, 1);
        if (!until([&] { return load(flag) == 1; }, 2)) {
            fresh_blocked_at = blocked;
            break;
        }
        if (by_event) check(cudaStreamWaitEvent(fresh, behind_gate));
        else check(bench.wait_geq(fresh, word, 1));
        streams.push_back(fresh);
        pause_us(100);
    }
    const auto print_first = [&](const char* which, int at) {
        if (at < 0)
            std::printf("  kernel on %s: never blocked, beside 0 to %d blocked streams\n", which,
                        std::min(blocked, most));
        else std::printf("  kernel on %s: BLOCKED beside %d blocked streams\n", which, at);
    };
    print_first("a new stream", fresh_blocked_at);
    print_first("an old idle stream", old_blocked_at);
    section_c_after(bench, blocked, on_device);

    phase("release");
    const std::int64_t begin = now();
    store(word, 1);
    bench.gate.open();
    const auto drained = [&] {
        return std::all_of(streams.begin(), streams.end(),
                           [](auto s) { return cudaStreamQuery(s) == cudaSuccess; });
    };
    const bool all = until(drained, 3);
    std::printf("  released: %s after %.0f us\n", all ? "all drained" : "NOT ALL DRAINED", us_since(begin));
}

// --- D: a sticky error -------------------------------------------------------------------------------------

__global__ void trap_kernel() { asm volatile("trap;"); }
__global__ void poke_kernel(volatile int* address) { *address = 1; }

/// Something that may or may not be called after the fault.
struct Note {
    const char* name;
    std::atomic<std::int64_t> at{0};
    std::atomic<int> status{-1};
    void take(int with) {
        status = with;
        at = now();
    }
};

inline void CUDART_CB note_host_function(void* note) { static_cast<Note*>(note)->take(-1); }
inline void CUDART_CB note_callback(cudaStream_t, cudaError_t status, void* note) {
    static_cast<Note*>(note)->take(static_cast<int>(status));
}

inline void section_d(bool trap, bool watched) {
    static Bench bench;
    static Note notes[] = {{"callback, faulted stream"},
                           {"host function, faulted stream"},
                           {"host function, notifier behind the event"},
                           {"callback, notifier behind the event"},
                           {"callback, unrelated stream behind a running kernel"},
                           {"callback, unrelated stream behind WaitValue"},
                           {"host function, unrelated stream behind WaitValue"},
                           {"WriteValue, faulted stream"},
                           {"WriteValue, notifier behind the event"},
                           {"thread in cudaEventSynchronize (blocking)"}};
    static cudaStream_t faulty = bench.source, by_function = bench.notifier, by_callback = make_stream(),
                        by_write = make_stream(), running = make_stream(), waiting = make_stream();
    static cudaEvent_t event = make_event(cudaEventDisableTiming | cudaEventBlockingSync),
                       unused = make_event();
    static Word *never = bench.words.take(), *written = bench.words.take(), *relayed = bench.words.take();
    static Gate other{bench.words};
    static void *pooled = nullptr, *pinned = nullptr, *plain = nullptr;
    check(cudaMallocAsync(&pooled, 1 << 20, faulty));
    check(cudaHostAlloc(&pinned, 1 << 16, cudaHostAllocDefault));
    check(cudaMalloc(&plain, 1 << 16));
    bench.settle();

    phase("enqueue");
    other.close(running, 6);
    check(cudaStreamAddCallback(running, note_callback, &notes[4], 0));
    check(bench.wait_geq(waiting, never, 1));
    check(cudaStreamAddCallback(waiting, note_callback, &notes[5], 0));
    check(cudaLaunchHostFunc(waiting, note_host_function, &notes[6]));
    bench.gate.close(faulty, 6);
    if (trap) trap_kernel<<<1, 1, 0, faulty>>>();
    else poke_kernel<<<1, 1, 0, faulty>>>(reinterpret_cast<volatile int*>(16));
    check(cudaEventRecord(event, faulty));
    check(cudaStreamAddCallback(faulty, note_callback, &notes[0], 0));
    check(cudaLaunchHostFunc(faulty, note_host_function, &notes[1]));
    check(bench.write(faulty, written, 1));
    check(cudaStreamWaitEvent(by_function, event));
    check(cudaLaunchHostFunc(by_function, note_host_function, &notes[2]));
    check(cudaStreamWaitEvent(by_callback, event));
    check(cudaStreamAddCallback(by_callback, note_callback, &notes[3], 0));
    check(cudaStreamWaitEvent(by_write, event));
    check(bench.write(by_write, relayed, 1));
    if (watched) std::thread([] { notes[9].take(static_cast<int>(cudaEventSynchronize(event))); }).detach();
    pause_us(2000);

    phase("the fault, with no call of ours");
    const std::int64_t fault = now();
    bench.gate.open();
    const auto look = [&] {
        if (notes[7].at == 0 && load(written) == 1) notes[7].take(-1);
        if (notes[8].at == 0 && load(relayed) == 1) notes[8].take(-1);
        return false;
    };
    until(look, 1.5);
    const double first_query = us_since(fault);
    try_call("cudaEventQuery, event behind the fault (first call after it)",
             [] { return cudaEventQuery(event); });
    until(look, 0.5);
    std::printf("  noticed after the fault (us; the first call of ours came at %.0f):\n", first_query);
    for (const Note& note : notes) {
        if (note.at == 0) std::printf("    %-58s %s\n", note.name, "not called");
        else
            std::printf("    %-58s %8.0f  %s\n", note.name, static_cast<double>(note.at - fault) * 1e-3,
                        note.status < 0 ? "-" : name_of(static_cast<cudaError_t>(note.status.load())));
    }

    try_call("cudaEventQuery, never recorded", [] { return cudaEventQuery(unused); });
    try_call("cudaStreamQuery, unrelated stream in WaitValue", [] { return cudaStreamQuery(waiting); });
    try_call("cudaStreamSynchronize, faulted stream", [] { return cudaStreamSynchronize(faulty); });
    try_call("cudaStreamSynchronize, unrelated stream in WaitValue",
             [] { return cudaStreamSynchronize(waiting); });
    try_call("cudaStreamSynchronize, unrelated stream behind a kernel",
             [] { return cudaStreamSynchronize(running); });
    try_call("cudaLaunchHostFunc, notifier",
             [] { return cudaLaunchHostFunc(by_function, note_host_function, &notes[2]); });
    try_call("cudaEventRecord", [] { return cudaEventRecord(unused, by_write); });
    try_call("cudaStreamWaitEvent", [] { return cudaStreamWaitEvent(by_write, unused); });
    try_call("cuStreamWaitValue64", [] { return bench.wait_geq(by_write, never, 1); });
    try_call("kernel launch", [] {
        empty_kernel<<<1, 1, 0, by_write>>>();
        return cudaGetLastError();
    });
    try_call("cudaGetLastError, again", [] { return cudaGetLastError(); });
    try_call("cudaGetDevice", [] {
        int device;
        return cudaGetDevice(&device);
    });
    try_call("cudaSetDevice", [] { return cudaSetDevice(0); });
    try_call("cudaStreamIsCapturing", [] {
        cudaStreamCaptureStatus status;
        return cudaStreamIsCapturing(by_write, &status);
    });
    try_call("cudaEventCreateWithFlags", [] {
        cudaEvent_t e;
        return cudaEventCreateWithFlags(&e, 2);
    });
    try_call("cudaStreamCreateWithFlags", [] {
        cudaStream_t s;
        return cudaStreamCreateWithFlags(&s, 1);
    });
    try_call("cudaHostAlloc", [] {
        void* p;
        return cudaHostAlloc(&p, 4096, 0);
    });
    try_call("cudaMallocAsync", [] {
        void* p;
        return cudaMallocAsync(&p, 4096, by_write);
    });
    try_call("cudaFreeAsync", [] { return cudaFreeAsync(pooled, faulty); });
    try_call("cudaFree", [] { return cudaFree(plain); });
    try_call("cudaFreeHost", [] { return cudaFreeHost(pinned); });
    try_call("cudaEventDestroy, event behind the fault", [] { return cudaEventDestroy(event); });
    try_call("cudaStreamDestroy, faulted stream", [] { return cudaStreamDestroy(faulty); });
    try_call("cudaStreamDestroy, unrelated stream in WaitValue", [] { return cudaStreamDestroy(waiting); });
    try_call("cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); });
}

// --- F: destruction, reuse of memory, capture --------------------------------------------------------------

/// Frees on stream a behind a gate, orders b by `order`, allocates the same size on b: is it the same memory?
template <class Order>
void reuse_case(Bench& bench, const char* name, bool internal_dependencies, const Order& order) {
    phase("reuse: %s", name);
    constexpr std::size_t bytes = 64 << 20;
    cudaMemPool_t pool = make_pool();
    int allow = internal_dependencies ? 1 : 0;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &allow));
    cudaStream_t a = make_stream(), b = make_stream();
    void* first = nullptr;
    static void* second;
    check(cudaMallocFromPoolAsync(&first, bytes, pool, a));
    check(cudaStreamSynchronize(a));
    bench.gate.close(a);
    check(cudaFreeAsync(first, a));
    order(a, b);
    const auto call = call_in_thread([=] { return cudaMallocFromPoolAsync(&second, bytes, pool, b); }, 0.5);
    if (!call->returned) std::printf("  %-64s allocation BLOCKED the host until the gate opened\n", name);
    Word* flag = bench.words.take();
    if (call->returned) {
        check(static_cast<cudaError_t>(call->code));
        set_flag(b, flag, 1);
        const bool held = !until([&] { return load(flag) == 1; }, 0.02);
        std::printf("  %-64s %s memory, %.1f us, b is %s\n", name, first == second ? "SAME" : "other",
                    call->us, held ? "held until a is done" : "not held");
    }
    bench.gate.open();
    check(cudaStreamSynchronize(a));
    if (!until([&] { return call->returned.load(); }, 3)) fail("allocation did not return");
    check(cudaStreamSynchronize(b));
}

inline void section_f() {
    static Bench bench;
    static cudaStream_t stream;
    Word *flag = bench.words.take(), *word = bench.words.take();
    const auto print_after = [&](const char* what, Word value, const std::function<void()>& release) {
        const bool early = load(flag) == value;
        release();
        const bool ran = until([&] { return load(flag) == value; }, 2);
        std::printf("    %-58s %s\n", what, early ? "RAN TOO EARLY" : ran ? "runs after release" : "LOST");
    };
    stream = make_stream();
    bench.gate.close(stream);
    set_flag(stream, flag, 1);
    try_call("cudaStreamDestroy, a kernel running on it", [] { return cudaStreamDestroy(stream); });
    print_after("kernel behind it", 1, [] { bench.gate.open(); });

    stream = make_stream();
    check(bench.wait_geq(stream, word, 1));
    set_flag(stream, flag, 2);
    try_call("cudaStreamDestroy, blocked in WaitValue", [] { return cudaStreamDestroy(stream); });
    print_after("kernel behind it", 2, [&] { store(word, 1); });

    stream = make_stream();
    static std::atomic<Word*> target{nullptr};
    target = flag;
    bench.gate.close(stream);
    check(cudaLaunchHostFunc(
        stream, [](void*) { store(target.load(), 3); }, nullptr));
    try_call("cudaStreamDestroy, host function pending behind a kernel",
             [] { return cudaStreamDestroy(stream); });
    print_after("host function", 3, [] { bench.gate.open(); });

    static cudaEvent_t event = make_event();
    stream = make_stream();
    bench.gate.close(bench.source);
    check(cudaEventRecord(event, bench.source));
    check(cudaStreamWaitEvent(stream, event));
    set_flag(stream, flag, 4);
    try_call("cudaEventDestroy, pending and waited on by a stream", [] { return cudaEventDestroy(event); });
    pause_us(500);
    print_after("kernel behind the wait", 4, [] { bench.gate.open(); });

    stream = make_stream();
    Word* chain[] = {bench.words.take(), bench.words.take()};
    check(bench.wait_geq(stream, chain[0], 1));
    check(cudaStreamWaitEvent(bench.notifier, [] {
        cudaEvent_t e = make_event();
        check(cudaEventRecord(e, stream));
        return e;
    }()));
    set_flag(bench.notifier, flag, 5);
    pause_us(500);
    print_after("kernel behind an event behind WaitValue", 5, [&] { store(chain[0], 1); });

    cudaEvent_t recorded = make_event();
    const auto by_event = [&](cudaStream_t a, cudaStream_t b) {
        check(cudaEventRecord(recorded, a));
        check(cudaStreamWaitEvent(b, recorded));
    };
    const auto unordered = [](cudaStream_t, cudaStream_t) {};
    const auto seen_by_host = [&](cudaStream_t a, cudaStream_t) {
        bench.gate.open();
        check(cudaStreamSynchronize(a));
    };
    reuse_case(bench, "freed on a, b waited on a's event", true, by_event);
    reuse_case(bench, "the same, internal dependencies forbidden", false, by_event);
    reuse_case(bench, "freed on a, b unordered", true, unordered);
    reuse_case(bench, "the same, internal dependencies forbidden", false, unordered);
    reuse_case(bench, "freed on a, a done and the host has seen it", false, seen_by_host);

    stream = make_stream();
    const auto captured = [&](const char* name, auto enqueue) {
        phase("capture of %s", name);
        cudaGraph_t graph{};
        cudaGraphExec_t ready{};
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        const auto code = static_cast<cudaError_t>(enqueue());
        const cudaError_t end = cudaStreamEndCapture(stream, &graph);
        const cudaError_t made = end == cudaSuccess ? cudaGraphInstantiate(&ready, graph, 0) : end;
        (void)cudaGetLastError();
        std::printf("  in a capture: %-50s %s, end %s, instantiate %s\n", name, name_of(code), name_of(end),
                    name_of(made));
    };
    captured("cuStreamWaitValue64", [&] { return bench.wait_geq(stream, word, 1); });
    captured("cuStreamWriteValue64", [&] { return bench.write(stream, word, 1); });
    captured("cudaLaunchHostFunc", [&] {
        return cudaLaunchHostFunc(
            stream, [](void*) {}, nullptr);
    });
    captured("cudaStreamAddCallback", [&] {
        return cudaStreamAddCallback(
            stream, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0);
    });
}

// --- G: exit with work pending -----------------------------------------------------------------------------

enum class Pending { wait_value, wait_value_quick, gate, everything, host_function, polling_thread };

inline void say(const char* text) {
    if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(126);
}

inline void section_g(Pending pending) {
    static Bench& bench = *new Bench;
    static cudaStream_t stream = make_stream();
    static cudaEvent_t event = make_event(cudaEventDisableTiming | cudaEventBlockingSync);
    Word* never = bench.words.take();
    if (pending == Pending::gate || pending == Pending::polling_thread) bench.gate.close(stream, 4);
    else if (pending == Pending::host_function)
        check(cudaLaunchHostFunc(
            stream,
            [](void*) {
                pause_us(4e6);
                say("  the host function has returned\n");
            },
            nullptr));
    else check(bench.wait_geq(stream, never, 1));
    if (pending == Pending::everything) {
        check(cudaStreamAddCallback(
            stream, [](cudaStream_t, cudaError_t, void*) { say("  the callback was called\n"); }, nullptr,
            0));
        check(cudaLaunchHostFunc(
            stream, [](void*) { say("  the host function was called\n"); }, nullptr));
    }
    check(cudaEventRecord(event, stream));
    if (pending == Pending::everything)
        std::thread([] {
            const cudaError_t code = cudaEventSynchronize(event);
            say(code == cudaSuccess ? "  cudaEventSynchronize returned success\n"
                                    : "  cudaEventSynchronize returned an error\n");
        }).detach();
    if (pending == Pending::polling_thread)
        std::thread([] {
            cudaError_t code = cudaErrorNotReady;
            while (code == cudaErrorNotReady) code = cudaEventQuery(event);
            say(code == cudaSuccess ? "  the polling thread saw success\n"
                                    : "  the polling thread saw an error\n");
        }).detach();
    pause_us(20000);
    if (pending == Pending::wait_value_quick) {
        mark_exit();
        _exit(0);
    }
}

// --- H: static objects that outlive main -------------------------------------------------------------------

/// Holds a stream, an event and pinned memory once armed; its destructor tells what their release says.
class ExitProbe {
public:
    explicit ExitProbe(const char* name) : name_(name) {}
    ExitProbe(const ExitProbe&) = delete;
    void arm(Gate* gate) {
        stream_ = make_stream();
        event_ = make_event();
        check(cudaHostAlloc(&pinned_, 4096, cudaHostAllocDefault));
        if (gate != nullptr) gate->close(stream_, 1);
        check(cudaEventRecord(event_, stream_));
        armed_ = true;
    }
    ~ExitProbe() {
        if (!armed_) return;
        std::printf("  destructor of %s:\n", name_);
        const auto tell = [](const char* call, const auto& function) {
            phase("%s in a static destructor", call);
            const std::int64_t begin = now();
            const cudaError_t code = function();
            std::printf("    %-30s %3d %-28s %10.1f us\n", call, static_cast<int>(code), name_of(code),
                        us_since(begin));
            std::fflush(stdout);
        };
        tell("cudaEventQuery", [&] { return cudaEventQuery(event_); });
        tell("cudaStreamSynchronize", [&] { return cudaStreamSynchronize(stream_); });
        tell("cudaEventDestroy", [&] { return cudaEventDestroy(event_); });
        tell("cudaStreamDestroy", [&] { return cudaStreamDestroy(stream_); });
        tell("cudaFreeHost", [&] { return cudaFreeHost(pinned_); });
        tell("cudaGetDevice", [] {
            int device;
            return cudaGetDevice(&device);
        });
    }

private:
    const char* name_;
    bool armed_ = false;
    cudaStream_t stream_{};
    cudaEvent_t event_{};
    void* pinned_ = nullptr;
};

[[gnu::init_priority(101)]] static ExitProbe earliest_probe{"a namespace-scope object, init_priority 101"};
static ExitProbe global_probe{"a namespace-scope object"};

inline void section_h(bool pending) {
    static ExitProbe before{"a function's static made before the first CUDA call"};
    static Bench& bench = *new Bench;
    static ExitProbe after{"a function's static made after the first CUDA call"};
    Gate* gate = pending ? &bench.gate : nullptr;
    for (ExitProbe* probe : {&after, &before, &global_probe, &earliest_probe}) probe->arm(gate);
}
