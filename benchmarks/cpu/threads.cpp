// bench_cpu: a process for each number of threads.
#include "cpu/threads.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include <heddle/heddle.hpp>

#include "cpu/parts.hpp"

using namespace heddle;

namespace bench {

namespace {

struct Triad {
    HEDDLE_FN void operator()(std::size_t i, View<const float> x, View<const float> y,
                              View<float> z) const {
        z[i] = x[i] + 3.0f * y[i];
    }
};

int processors() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return std::max(1, CPU_COUNT(&allowed));
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// What a process tells the one that started it.
struct Message {
    double heddle, raw, ratio, ratio_p10, ratio_p90;
    char peer[100];
    char error[200];  ///< empty: the rest is a row
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) < 4096,
              "a pipe takes it at once");

template <std::size_t size> void put(char (&to)[size], const std::string& text) {
    std::strncpy(to, text.c_str(), size - 1);
}

/// The row that `f` measures in a process with `threads` worker threads.
template <class F> Result in_process(int threads, F&& f) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("HEDDLE_CPU_THREADS", std::to_string(threads).c_str(), 1);
        Message message{};
        try {
            const Result row = f();
            message = {row.heddle, row.raw, row.ratio, row.ratio_p10, row.ratio_p90, {}, {}};
            put(message.peer, row.peer);
        } catch (const std::exception& error) {
            put(message.error, error.what()[0] != '\0' ? error.what() : "failed");
        }
        _exit(write(ends[1], &message, sizeof message) == sizeof message ? 0 : 1);
    }
    close(ends[1]);
    Message message{};
    const bool whole = read(ends[0], &message, sizeof message) == sizeof message;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!whole) throw std::runtime_error("the process ended before it had measured anything");
    if (message.error[0] != '\0') throw std::runtime_error(message.error);
    return {.heddle = message.heddle,
            .raw = message.raw,
            .ratio = message.ratio,
            .ratio_p10 = message.ratio_p10,
            .ratio_p90 = message.ratio_p90,
            .peer = message.peer};
}

/// The caller sleeps until the last is done, so that the workers alone work: a caller that
/// synchronises takes part.
Result triad(int threads, std::size_t bytes, bool quick) {
    const Device device(DeviceKind::cpu, 0);
    const Stream s{device};
    const std::size_t count = bytes / sizeof(float);
    Array<float> x = full<float>(s, count, 1.0f), y = full<float>(s, count, 2.0f),
                 z = zeros<float>(s, count);
    s.synchronize();
    std::atomic<bool> done{false};
    const Side side{[&](int calls) {
        for (int i = 0; i < calls; ++i) launch(s, Triad{}, dim(count), x, y, z);
        done = false;
        launch_host(s, [&done] {
            done = true;
            done.notify_one();
        });
        done.wait(false);
    }};
    const std::vector<Peer> peers = openmp_triads(threads, count, x.data(), y.data(), z.data());
    const int calls =
        static_cast<int>(std::clamp<std::size_t>((std::size_t{2} << 30) / (3 * bytes), 4, 1000));
    return measure({}, {}, side, peers.empty() ? Peer{} : peers.front(),
                   {.calls = calls, .pairs = 100, .seconds = 3.0, .quick_calls = 4},
                   in_gb_per_s(3.0 * static_cast<double>(bytes)), quick);
}

}  // namespace

void add_triads(Report& report) {
    const int most = report.quick() ? std::min(2, processors()) : processors();
    std::vector<int> counts;
    for (int threads = 1; threads < most; threads *= 2) counts.push_back(threads);
    counts.push_back(most);
    for (const std::size_t megabytes : {std::size_t{1}, std::size_t{128}})
        for (const int threads : counts) {
            const std::string name = "triad of " + std::to_string(megabytes) + " MB arrays by " +
                                     std::to_string(threads) +
                                     (threads == 1 ? " thread" : " threads");
            if (!report.wants(name) || (report.quick() && megabytes != 1)) continue;
            report.attempt(name, [&] {
                Result row = in_process(
                    threads, [&] { return triad(threads, megabytes << 20, report.quick()); });
                row.name = name;
                row.device = "cpu:0";
                row.unit = "GB/s";
                report.add(row);
            });
        }
}

}  // namespace bench
