// Measures, with raw CUDA alone, the ways in which a CPU thread can learn of a CUDA stream's progress and a
// CUDA stream can wait for a CPU thread, and asks what CUDA does at the edges: full hardware queues, sticky
// errors, destruction and process exit with work pending.
//
//     nvcc -std=c++20 -O2 -arch=sm_90 -o bench_cross_waits benchmarks/bench_cross_waits.cu
//     ./bench_cross_waits                  every section, well under 60 s
//     ./bench_cross_waits --only C.event   the sections whose names begin so
//     ./bench_cross_waits --quick          the sections that measure, hardly
//
// Every section runs in a process of its own, ended when its time is up; the first process never uses CUDA. The figures of
// the sections that measure are rows of the JSON file; nothing stands beside them, and none is heddle's.
#include "cross_waits_costs.cuh"
#include "cross_waits_semantics.cuh"
#include "cross_waits_tools.cuh"
#include "report.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

// --- info --------------------------------------------------------------------------------------------------

void section_info() {
    int devices = 0, driver = 0, runtime = 0, least = 0, greatest = 0, nor = 0, flush = 0, coherent = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        std::printf("no CUDA device: %s\n", cudaGetErrorString(code));
        std::fflush(stdout);
        _exit(77);
    }
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0));
    check(cudaDriverGetVersion(&driver));
    check(cudaRuntimeGetVersion(&runtime));
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    check(cudaDeviceGetAttribute(&flush, cudaDevAttrCanFlushRemoteWrites, 0));
    check(cudaDeviceGetAttribute(&coherent, cudaDevAttrPageableMemoryAccess, 0));
    decltype(&cuDeviceGetAttribute) attribute = nullptr;
    find_driver_entry("cuDeviceGetAttribute", attribute);
    check(attribute(&nor, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    std::printf("%s, driver %d, runtime %d, priorities %d to %d, %u host threads\n", properties.name, driver,
                runtime, least, greatest, std::thread::hardware_concurrency());
    std::printf("wait-value NOR %d, flush of remote writes %d, pageable memory access %d\n", nor, flush,
                coherent);
}

// --- A: CUDA to CPU ----------------------------------------------------------------------------------------

/// One thread that runs what it is given, spinning in between.
class Worker {
public:
    Worker() : thread_([this] { run(); }) {}
    ~Worker() {
        stop_ = true;
        thread_.join();
    }
    void post(const std::function<void()>& job) { job_ = &job; }
    bool idle() const { return job_ == nullptr; }

private:
    void run() {
        (void)cudaSetDevice(0);
        while (!stop_) {
            const std::function<void()>* job = job_;
            if (job == nullptr) continue;
            (*job)();
            job_ = nullptr;
        }
    }
    std::atomic<const std::function<void()>*> job_{nullptr};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// A way to tell a CPU thread that a stream has come to a point.
struct Method {
    const char* name;
    std::function<void()> enqueue;  // on the calling thread, behind the work
    std::function<void()> watch;    // notes the time; empty where what was enqueued calls back by itself
    bool here = false;              // watch runs on the thread that opens the gate
};

std::atomic<std::int64_t> seen{0};
void CUDART_CB see_host_function(void*) { seen = now(); }
void CUDART_CB see_callback(cudaStream_t, cudaError_t, void*) { seen = now(); }

struct Latency {
    double p50 = NAN, p90 = NAN;
};

Latency notify_latency(Bench& bench, Worker& worker, const Method& method) {
    std::vector<double> samples;
    for (int i = 0; i < times(250); ++i) {
        seen = 0;
        bench.gate.launch(bench.source);
        method.enqueue();
        if (method.watch && !method.here) worker.post(method.watch);
        bench.gate.await_started();
        pause_us(60);
        const std::int64_t begin = now();
        bench.gate.open();
        if (method.here) method.watch();
        if (!until([] { return seen != 0; }, 1)) return {};
        samples.push_back(static_cast<double>(seen - begin) * 1e-3);
        bench.settle();
        if (!until([&] { return worker.idle(); }, 1)) return {};
    }
    return {median(samples), quantile(samples, 0.9)};
}

/// ns of host time for one enqueue: many behind a closed gate, and one at a time on idle streams.
struct HostCost {
    double gated, idle;
};

HostCost enqueue_cost(Bench& bench, const std::function<void()>& enqueue) {
    constexpr int calls = 64;
    std::vector<double> gated, idle;
    for (int batch = 0; batch < times(40); ++batch) {
        bench.gate.close(bench.source);
        std::int64_t begin = now();
        for (int i = 0; i < calls; ++i) enqueue();
        gated.push_back(us_since(begin) * 1e3 / calls);
        bench.gate.open();
        bench.settle();
        for (int i = 0; i < 5; ++i) {
            begin = now();
            enqueue();
            idle.push_back(us_since(begin) * 1e3);
            bench.settle();
        }
    }
    return {median(gated), median(idle)};
}

void section_a() {
    Bench bench;
    Worker worker;
    cudaEvent_t event = make_event(), sleeping = make_event(cudaEventDisableTiming | cudaEventBlockingSync);
    Word* word = bench.words.take();
    Word value = 0;
    const auto record_and_wait = [&] {
        check(cudaEventRecord(event, bench.source));
        check(cudaStreamWaitEvent(bench.notifier, event));
    };
    const auto poll_word = [&] {
        const Word target = value;
        if (until([&] { return load(word) >= target; }, 1)) seen = now();
    };
    const auto poll_event = [&] {
        if (until([&] { return cudaEventQuery(event) == cudaSuccess; }, 1)) seen = now();
    };
    const Method methods[] = {
        {"cudaStreamSynchronize here (baseline)", [] {},
         [&] { check(cudaStreamSynchronize(bench.source)), seen = now(); }, true},
        {"1  cudaLaunchHostFunc, source",
         [&] { check(cudaLaunchHostFunc(bench.source, see_host_function, nullptr)); },
         {}},
        {"2  record + wait + cudaLaunchHostFunc, notifier",
         [&] {
             record_and_wait();
             check(cudaLaunchHostFunc(bench.notifier, see_host_function, nullptr));
         },
         {}},
        {"3  record + wait + cudaStreamAddCallback, notifier",
         [&] {
             record_and_wait();
             check(cudaStreamAddCallback(bench.notifier, see_callback, nullptr, 0));
         },
         {}},
        {"4a WriteValue64, source; thread polls word",
         [&] { check(bench.write(bench.source, word, ++value)); }, poll_word},
        {"4b record + wait + WriteValue64, notifier; polls word",
         [&] {
             record_and_wait();
             check(bench.write(bench.notifier, word, ++value));
         },
         poll_word},
        {"4c WriteValue32, source; thread polls word",
         [&] {
             check(bench.driver.write32(bench.source, reinterpret_cast<CUdeviceptr>(word),
                                        static_cast<cuuint32_t>(++value), CU_STREAM_WRITE_VALUE_DEFAULT));
         },
         poll_word},
        {"4d kernel stores word, source; thread polls word", [&] { set_flag(bench.source, word, ++value); },
         poll_word},
        {"5  record; thread polls cudaEventQuery", [&] { check(cudaEventRecord(event, bench.source)); },
         poll_event},
        {"6  record; thread in blocking cudaEventSynchronize",
         [&] { check(cudaEventRecord(sleeping, bench.source)); },
         [&] { check(cudaEventSynchronize(sleeping)), seen = now(); }},
    };
    phase("chain without notification");
    const double plain = chain_us(bench, [] {});
    std::printf("  %-54s %9s %9s %9s %9s %9s %9s\n", "", "host ns", "host ns", "latency", "p90", "minus",
                "delays next");
    std::printf("  %-54s %9s %9s %9s %9s %9s %9s\n", "", "(gated)", "(idle)", "us", "us", "baseline",
                "kernel us");
    double baseline = NAN;
    for (const Method& method : methods) {
        phase("%s", method.name);
        const HostCost cost = enqueue_cost(bench, method.enqueue);
        const Latency latency = notify_latency(bench, worker, method);
        if (method.here) baseline = latency.p50;
        const double delay = chain_us(bench, method.enqueue) - plain;
        std::printf("  %-54s %9.0f %9.0f %9.2f %9.2f %9.2f %9.2f\n", method.name, cost.gated, cost.idle,
                    latency.p50, latency.p90, latency.p50 - baseline, delay);
        const std::string name = std::string("CUDA to CPU: ") + method.name;
        row(name + ": host cost", cost.idle, "ns");
        row(name + ": latency", latency.p50, "µs");
        row(name + ": delays the next kernel", delay, "µs");
    }
    std::printf("  (chain without notification: %.2f us a kernel)\n", plain);
}

// --- B: CPU to CUDA ----------------------------------------------------------------------------------------

struct Awaited {
    Word* word;
    Word target;
};

/// Blocks the thread that CUDA calls it on, for at most 2 s.
void CUDART_CB wait_in_host_function(void* argument) {
    const Awaited* awaited = static_cast<Awaited*>(argument);
    until([&] { return load(awaited->word) >= awaited->target; }, 2);
}

void section_b() {
    Bench bench;
    Word *word = bench.words.take(), *started = bench.words.take(), *payload = bench.words.take(),
         *echo = bench.words.take();
    Awaited awaited{word, 0};
    Word turn = 0;
    struct Waiting {
        const char* name;
        std::function<void(Word)> enqueue;
    };
    const Waiting ways[] = {
        {"1  WaitValue64 GEQ", [&](Word value) { check(bench.wait_geq(bench.source, word, value)); }},
        {"1b WaitValue32 GEQ",
         [&](Word value) {
             check(bench.driver.wait32(bench.source, reinterpret_cast<CUdeviceptr>(word),
                                       static_cast<cuuint32_t>(value), CU_STREAM_WAIT_VALUE_GEQ));
         }},
        {"2  host function that blocks (spins)",
         [&](Word value) {
             awaited.target = value;
             check(cudaLaunchHostFunc(bench.source, wait_in_host_function, &awaited));
         }},
        {"3  kernel spinning on the word",
         [&](Word value) {
             gate_kernel<<<1, 1, 0, bench.source>>>(word, value, started, Word{2'000'000'000});
         }},
    };
    const auto flag_seen = [&] { return load(bench.flag) == turn; };
    phase("plain launch");
    std::vector<double> launches;
    for (int i = 0; i < times(300); ++i) {
        ++turn;
        const std::int64_t begin = now();
        set_flag(bench.source, bench.flag, turn);
        if (!until(flag_seen, 1)) fail("a plain kernel did not run");
        launches.push_back(us_since(begin));
        bench.settle();
    }
    const double launch = median(launches), plain = chain_us(bench, [] {});
    std::printf("  plain launch until its effect is seen by the host: %.2f us\n", launch);
    std::printf("  %-40s %10s %10s %10s %10s %10s %12s %6s\n", "", "host ns", "host ns", "latency", "p90",
                "minus", "satisfied: ", "stale");
    std::printf("  %-40s %10s %10s %10s %10s %10s %12s %6s\n", "", "(unmet)", "(met)", "us", "us", "launch",
                "device us", "reads");
    for (const Waiting& way : ways) {
        phase("%s", way.name);
        std::vector<double> unmet, met, latencies;
        constexpr int calls = 64;
        for (int batch = 0; batch < times(30); ++batch) {
            ++turn;
            std::int64_t begin = now();
            for (int i = 0; i < calls; ++i) way.enqueue(turn);
            unmet.push_back(us_since(begin) * 1e3 / calls);
            store(word, turn);
            bench.settle();
            begin = now();
            for (int i = 0; i < calls; ++i) way.enqueue(turn);
            met.push_back(us_since(begin) * 1e3 / calls);
            bench.settle();
        }
        int stale = 0;
        for (int i = 0; i < times(250); ++i) {
            way.enqueue(++turn);
            set_flag(bench.source, bench.flag, turn, payload, echo);
            pause_us(60);
            const std::int64_t begin = now();
            *payload = turn;
            store(word, turn);
            if (!until(flag_seen, 1)) fail("the stream did not go on");
            latencies.push_back(us_since(begin));
            bench.settle();
            if (load(echo) != turn) ++stale;
        }
        const double device = chain_us(bench, [&] { way.enqueue(turn); }) - plain, p50 = median(latencies);
        std::printf("  %-40s %10.0f %10.0f %10.2f %10.2f %10.2f %12.2f %6d\n", way.name, median(unmet),
                    median(met), p50, quantile(latencies, 0.9), p50 - launch, device, stale);
        const std::string name = std::string("CPU to CUDA: ") + way.name;
        row(name + ": host cost", median(unmet), "ns");
        row(name + ": latency", p50, "µs");
        row(name + ": time of the stream where it is satisfied", device, "µs");
    }
    phase("two host functions");
    awaited.target = ++turn;
    check(cudaLaunchHostFunc(bench.source, wait_in_host_function, &awaited));
    pause_us(1000);
    seen = 0;
    check(cudaLaunchHostFunc(bench.notifier, see_host_function, nullptr));
    const bool ran = until([] { return seen != 0; }, 0.3);
    std::printf("  host function of one stream while another's blocks: %s\n", ran ? "runs" : "BLOCKED");
    store(word, turn);
    bench.settle();
}

// --- processes ---------------------------------------------------------------------------------------------

struct Section {
    const char* name;
    const char* title;
    void (*run)();
    int limit_s = 20;
    const char* connections = nullptr;
    bool measures = false;
};

const Section sections[] = {
    {"info", "the machine", section_info, 20, nullptr, true},
    {"A", "CUDA to CPU: how a thread learns that a stream has come to a point", section_a, 20, nullptr, true},
    {"B", "CPU to CUDA: how a stream waits for a thread", section_b, 20, nullptr, true},
    {"E", "host costs", section_e, 20, nullptr, true},
    {"F", "destruction, reuse of memory, capture", section_f},
    {"C.value", "streams blocked in WaitValue", [] { section_c(false); }},
    {"C.event", "streams blocked behind an event", [] { section_c(true); }},
    {"C.value32", "the same in WaitValue, CUDA_DEVICE_MAX_CONNECTIONS=32", [] { section_c(false); }, 20,
     "32"},
    {"C.event32", "the same by event, CUDA_DEVICE_MAX_CONNECTIONS=32", [] { section_c(true); }, 20, "32"},
    {"D.trap", "a kernel traps; nobody calls CUDA for 1.5 s", [] { section_d(true, false); }},
    {"D.watched", "a kernel traps; a thread waits in cudaEventSynchronize", [] { section_d(true, true); }},
    {"D.address", "a kernel writes to an illegal address; nobody calls CUDA for 1.5 s",
     [] { section_d(false, false); }},
    {"H.idle", "static destructors, nothing pending", [] { section_h(false); }, 10},
    {"H.pending", "static destructors, a kernel of 1 s on each stream", [] { section_h(true); }, 12},
    {"G.gate", "exit beside a kernel that runs 4 s", [] { section_g(Pending::gate); }, 10},
    {"G.function", "exit beside a host function that runs 4 s", [] { section_g(Pending::host_function); }, 8},
    {"G.polling", "exit while a thread polls an event behind a 4 s kernel",
     [] { section_g(Pending::polling_thread); }, 8},
    {"G.value", "exit beside a stream blocked in WaitValue", [] { section_g(Pending::wait_value); }, 10},
    {"G._exit", "the same by _exit", [] { section_g(Pending::wait_value_quick); }, 7},
    {"G.all", "the same with callbacks pending and a thread waiting", [] { section_g(Pending::everything); },
     7},
};

int run_section_here(const char* name, int exit_fd, int rows, bool is_quick) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    exit_stamp_fd = exit_fd;
    row_fd = rows;
    quick = is_quick;
    for (const Section& section : sections) {
        if (std::strcmp(section.name, name) != 0) continue;
        signal(SIGALRM, out_of_time);
        alarm(static_cast<unsigned>(section.limit_s));
        phase("start of CUDA");
        section.run();
        mark_exit();
        return 0;
    }
    std::printf("no section %s\n", name);
    return 2;
}

[[noreturn]] void become_section(const Section& section, int exit_fd, int rows, bool is_quick) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // a kernel loaded beside a running gate would wait for it
    if (section.connections != nullptr) setenv("CUDA_DEVICE_MAX_CONNECTIONS", section.connections, 1);
    else unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const std::string fd = std::to_string(exit_fd), fd_of_rows = std::to_string(rows);
    execl("/proc/self/exe", "bench_cross_waits", "--section", section.name, fd.c_str(), fd_of_rows.c_str(),
          is_quick ? "quick" : "whole", static_cast<char*>(nullptr));
    std::perror("execl");
    _exit(127);
}

/// Runs the section in a process of its own and tells how that ended; returns its status, or -1.
int run_section(const Section& section, bench::Report& report) {
    std::printf("\n== %s: %s\n", section.name, section.title);
    std::fflush(stdout);
    int stamps[2], rows[2];
    if (pipe(stamps) != 0 || pipe(rows) != 0) return -1;
    const std::int64_t begin = now();
    const pid_t child = fork();
    if (child == 0) {
        close(stamps[0]);
        close(rows[0]);
        become_section(section, stamps[1], rows[1], report.quick());
    }
    close(stamps[1]);
    close(rows[1]);
    int status = 0;
    const auto ended = [&](double seconds) {
        return until(
            [&] {
                const pid_t found = waitpid(child, &status, WNOHANG);
                if (found == 0) usleep(200);
                return found != 0;
            },
            seconds);
    };
    bool dead = child > 0 && ended(section.limit_s + 1.5);
    const std::int64_t end = now();
    if (child > 0 && !dead) {
        kill(child, SIGKILL);
        dead = ended(3);
        std::printf("  KILLED after %.1f s%s\n", us_since(begin) * 1e-6,
                    dead ? "" : ", AND EVEN THAT DID NOT END IT");
    }
    std::int64_t stamp = 0;
    const bool stamped = dead && read(stamps[0], &stamp, sizeof stamp) == static_cast<ssize_t>(sizeof stamp);
    close(stamps[0]);
    Row sent{};
    while (dead && read(rows[0], &sent, sizeof sent) == static_cast<ssize_t>(sizeof sent))
        report.keep({.name = sent.name, .device = "cuda:0", .raw = sent.figure, .unit = sent.unit});
    close(rows[0]);
    if (!dead) return -1;
    if (stamped) std::printf("  [exit took %.1f ms, ", static_cast<double>(end - stamp) * 1e-6);
    else std::printf("  [did not come to its end, ");
    if (WIFSIGNALED(status)) std::printf("signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else std::printf("status %d", WEXITSTATUS(status));
    std::printf(", %.1f s in all]\n", static_cast<double>(end - begin) * 1e-9);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int count, char** arguments) {
    if (count == 6 && std::strcmp(arguments[1], "--section") == 0)
        return run_section_here(arguments[2], std::atoi(arguments[3]), std::atoi(arguments[4]),
                                std::strcmp(arguments[5], "quick") == 0);
    bench::Report report("bench_cross_waits", count, arguments);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    alarm(120);
    const std::int64_t begin = now();
    for (const Section& section : sections) {
        const bool asked_for = std::strncmp(section.name, report.only().c_str(), report.only().size()) == 0;
        const bool wanted = &section == sections || (asked_for && (section.measures || !report.quick()));
        if (wanted && run_section(section, report) == 77) return 77;
    }
    std::printf("\n%.1f s in all\n", us_since(begin) * 1e-6);
    return report.finish();
}
