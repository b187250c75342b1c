// bench_cpu: measures each number of threads in a separate process.
#include "cpu/threads.hpp"

#include <sched.h>

#include <algorithm>

#include <heddle/heddle.hpp>

#include "cpu/parts.hpp"
#include "in_process.hpp"

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

/// The calling thread sleeps until the last operation is complete, so that only workers run work.
/// If it synchronised instead, it would run work itself.
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
