// What the sections of bench_cross_waits.cu share: checked calls, bounded waiting, words that host and device
// both see, gates, and calls made in a thread of their own. Every wait here has a limit; what a section
// allocates is left to the end of its process.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

using Word = std::uint64_t;

inline std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

inline double us_since(std::int64_t begin) { return static_cast<double>(now() - begin) * 1e-3; }

/// Polls `condition` until it holds or `seconds` have passed; says whether it held.
template <class Condition> bool until(const Condition& condition, double seconds) {
    const std::int64_t end = now() + static_cast<std::int64_t>(seconds * 1e9);
    while (!condition())
        if (now() > end) return false;
    return true;
}

inline void pause_us(double us) {
    until([] { return false; }, us * 1e-6);
}

// --- phases and failures -----------------------------------------------------------------------------------

inline char phase_text[200] = "start";
inline int exit_stamp_fd = -1;

/// Names what is being tried, for the line printed when the section runs out of time.
[[gnu::format(printf, 1, 2)]] inline void phase(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(phase_text, sizeof phase_text, format, arguments);
    va_end(arguments);
}

extern "C" inline void out_of_time(int) {
    const char text[] = "  OUT OF TIME in: ";
    bool written = write(STDOUT_FILENO, text, sizeof text - 1) > 0;
    written = write(STDOUT_FILENO, phase_text, strnlen(phase_text, sizeof phase_text)) > 0 && written;
    written = write(STDOUT_FILENO, "\n", 1) > 0 && written;
    _exit(written ? 124 : 125);
}

/// Tells the parent the time at which this process begins to exit.
inline void mark_exit() {
    phase("process exit");
    std::fflush(stdout);
    const std::int64_t stamp = now();
    if (exit_stamp_fd >= 0 && write(exit_stamp_fd, &stamp, sizeof stamp) < 0) std::perror("exit stamp");
    exit_stamp_fd = -1;
}

[[noreturn]] inline void fail(const std::string& what) {
    std::printf("  FAILED in %s: %s\n", phase_text, what.c_str());
    std::fflush(stdout);
    _exit(1);
}

inline const char* name_of(cudaError_t code) { return cudaGetErrorName(code); }
inline const char* name_of(CUresult code) { return name_of(static_cast<cudaError_t>(code)); }  // same numbers

template <class Code> void check(Code code, std::source_location at = std::source_location::current()) {
    if (static_cast<int>(code) != 0)
        fail(std::string(name_of(code)) + " at " + at.file_name() + ":" + std::to_string(at.line()));
}

// --- rows ---------------------------------------------------------------------------------------------------

inline int row_fd = -1;
inline bool quick = false;

/// A figure for the parent's JSON file. The pipe holds some 400 of them, which is more than a section has.
struct Row {
    char name[120];
    double figure;
    char unit[8];
};
inline void row(const std::string& name, double figure, const char* unit) {
    if (row_fd < 0 || !std::isfinite(figure)) return;
    Row sent{};
    std::snprintf(sent.name, sizeof sent.name, "%s", name.c_str());
    sent.figure = figure;
    std::snprintf(sent.unit, sizeof sent.unit, "%s", unit);
    if (write(row_fd, &sent, sizeof sent) != static_cast<ssize_t>(sizeof sent)) std::perror("row");
}

/// How often something is measured; --quick: hardly.
inline int times(int often) { return quick ? std::min(often, 3) : often; }

// --- what host and device both see -------------------------------------------------------------------------

inline void store(Word* word, Word value) { std::atomic_ref<Word>(*word).store(value); }
inline Word load(Word* word) { return std::atomic_ref<Word>(*word).load(std::memory_order_acquire); }

/// Zeroed words of pinned memory, one to a 128-byte line; on 64-bit Linux the device address is the host's.
class Words {
public:
    Words() {
        check(cudaHostAlloc(&base_, count * stride * sizeof(Word),
                            cudaHostAllocMapped | cudaHostAllocPortable));
        std::memset(base_, 0, count * stride * sizeof(Word));
    }
    Word* take() {
        if (next_ == count) fail("out of words");
        return base_ + stride * next_++;
    }

private:
    static constexpr std::size_t count = 512, stride = 16;
    Word* base_ = nullptr;
    std::size_t next_ = 0;
};

__device__ inline Word device_ns() {
    Word ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void empty_kernel() {}

/// Runs until `*word` is at least `target`, or until `limit_ns` have passed.
__global__ void gate_kernel(const volatile Word* word, Word target, volatile Word* started, Word limit_ns) {
    *started = target;
    __threadfence_system();
    const Word begin = device_ns();
    while (*word < target && device_ns() - begin < limit_ns) {}
}

/// Copies `*payload` to `*echo` where there is one, then sets `*flag`.
__global__ void flag_kernel(volatile Word* flag, Word value, const volatile Word* payload,
                            volatile Word* echo) {
    if (payload != nullptr) *echo = *payload;
    __threadfence_system();
    *flag = value;
}

inline void set_flag(cudaStream_t stream, Word* flag, Word value, Word* payload = nullptr,
                     Word* echo = nullptr) {
    flag_kernel<<<1, 1, 0, stream>>>(flag, value, payload, echo);
}

/// Holds a stream with a running kernel until opened. Opening a turn opens all turns before it.
class Gate {
public:
    explicit Gate(Words& words) : word_(words.take()), started_(words.take()) {}
    void launch(cudaStream_t stream, double limit_s = 8) {
        gate_kernel<<<1, 1, 0, stream>>>(word_, ++turn_, started_, static_cast<Word>(limit_s * 1e9));
        check(cudaGetLastError());
    }
    void await_started() {
        if (!until([&] { return load(started_) >= turn_; }, 2))
            fail("a gate kernel did not start within 2 s");
    }
    void close(cudaStream_t stream, double limit_s = 8) {
        launch(stream, limit_s);
        await_started();
    }
    void open() { store(word_, turn_); }
    Word turn() const { return turn_; }

private:
    Word* word_;
    Word* started_;
    Word turn_ = 0;
};

struct Driver {
    decltype(&cuStreamWaitValue32) wait32 = nullptr;
    decltype(&cuStreamWaitValue64) wait64 = nullptr;
    decltype(&cuStreamWriteValue32) write32 = nullptr;
    decltype(&cuStreamWriteValue64) write64 = nullptr;
};

template <class Function> void find_driver_entry(const char* name, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status{};
    check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
    if (found == nullptr) fail(std::string("the driver has no ") + name);
    function = reinterpret_cast<Function>(found);
}

inline cudaStream_t make_stream(int priority = 0) {
    cudaStream_t stream{};
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
    return stream;
}

inline cudaEvent_t make_event(unsigned flags = cudaEventDisableTiming) {
    cudaEvent_t event{};
    check(cudaEventCreateWithFlags(&event, flags));
    return event;
}

/// A memory pool of device 0 that keeps what it has.
inline cudaMemPool_t make_pool() {
    cudaMemPool_t pool{};
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = 0;
    check(cudaMemPoolCreate(&pool, &properties));
    Word threshold = ~Word{0};
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    return pool;
}

/// What a section begins with: words, a gate, two streams and the driver's entry points, all warmed up.
struct Bench {
    Words words;
    Gate gate{words};
    Driver driver;
    cudaStream_t source = make_stream(), notifier = make_stream();
    Word* flag = words.take();

    Bench() {
        find_driver_entry("cuStreamWaitValue32", driver.wait32);
        find_driver_entry("cuStreamWaitValue64", driver.wait64);
        find_driver_entry("cuStreamWriteValue32", driver.write32);
        find_driver_entry("cuStreamWriteValue64", driver.write64);
        for (int i = 0; i < 3; ++i) {
            gate.launch(source);
            set_flag(source, flag, 0);
            empty_kernel<<<1, 1, 0, source>>>();
            gate.open();
            check(cudaLaunchHostFunc(
                notifier, [](void*) {}, nullptr));
            check(wait_geq(notifier, flag, 0));
            settle();
        }
    }
    CUresult wait_geq(cudaStream_t stream, Word* word, Word value) {
        return driver.wait64(stream, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ);
    }
    CUresult write(cudaStream_t stream, Word* word, Word value) {
        return driver.write64(stream, reinterpret_cast<CUdeviceptr>(word), value,
                              CU_STREAM_WRITE_VALUE_DEFAULT);
    }
    void settle() {
        check(cudaStreamSynchronize(source));
        check(cudaStreamSynchronize(notifier));
    }
};

// --- numbers -----------------------------------------------------------------------------------------------

inline double quantile(std::vector<double> values, double q) {
    if (values.empty()) return NAN;
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

/// µs of the source stream's time per `enqueue` in a chain of `links` small kernels, all enqueued beforehand.
template <class Enqueue>
double chain_us(Bench& bench, const Enqueue& enqueue, int links = 32, int batches = 25) {
    static const cudaEvent_t begin = make_event(cudaEventDefault), end = make_event(cudaEventDefault);
    std::vector<double> samples;
    for (int batch = 0; batch < times(batches); ++batch) {
        bench.gate.launch(bench.source);
        check(cudaEventRecord(begin, bench.source));
        for (int i = 0; i < links; ++i) {
            empty_kernel<<<1, 1, 0, bench.source>>>();
            enqueue();
        }
        empty_kernel<<<1, 1, 0, bench.source>>>();
        check(cudaEventRecord(end, bench.source));
        bench.gate.await_started();
        pause_us(50);
        bench.gate.open();
        bench.settle();
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end));
        samples.push_back(static_cast<double>(ms) * 1e3 / links);
    }
    return median(samples);
}

// --- calls that might not return ---------------------------------------------------------------------------

struct Call {
    std::atomic<bool> returned{false};
    int code = 0;
    double us = 0;
};

/// Makes the call in a thread of its own and waits at most `seconds` for it.
template <class Function> std::shared_ptr<Call> call_in_thread(const Function& function, double seconds) {
    auto call = std::make_shared<Call>();
    std::thread([call, function] {
        (void)cudaSetDevice(
            0);  // a thread's first call is the dear one; whether it fails is not the question
        const std::int64_t begin = now();
        call->code = static_cast<int>(function());
        call->us = us_since(begin);
        call->returned = true;
    }).detach();
    until([&] { return call->returned.load(); }, seconds);
    return call;
}

/// Makes the call in a thread of its own, for at most `seconds`, and prints how it went.
template <class Function>
std::shared_ptr<Call> try_call(const char* name, const Function& function, double seconds = 1) {
    phase("%s", name);
    auto call = call_in_thread(function, seconds);
    if (call->returned)
        std::printf("  %-64s %-28s %10.1f us\n", name, name_of(static_cast<cudaError_t>(call->code)),
                    call->us);
    else std::printf("  %-64s STILL BLOCKED after %.1f s\n", name, seconds);
    return call;
}
