// Work ordered by data, compared with task graphs. The programs are six patterns of Task Bench, 16
// tasks wide. A task is empty or takes 1, 10 or 100 µs. They run on one or two threads. The time
// for each task includes building the graph. The peers, Taskflow and oneTBB's flow graph, receive
// the patterns' edges. heddle receives calls and arrays, and finds the edges. Each point has two
// arrays, used in turn, so heddle must also order writers after readers.
//
// On a GPU, each task is a kernel with one thread. Rows: different numbers of streams and both
// kinds of waits (DataWaits), compared with a single stream.

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <heddle/by_data.hpp>
#include <heddle/heddle.hpp>

#include "by_data/parts.hpp"
#include "in_process.hpp"
#include "report.hpp"

using namespace heddle;

namespace {

constexpr std::size_t width = 16;

struct Task0 {
    HEDDLE_FN void operator()(std::size_t, View<long> to, std::uint64_t ns) const {
        bench::run_task(to[0], 0, 0, 0, ns);
    }
};
struct Task1 {
    HEDDLE_FN void operator()(std::size_t, View<long> to, View<const long> a,
                              std::uint64_t ns) const {
        bench::run_task(to[0], a[0], 0, 0, ns);
    }
};
struct Task2 {
    HEDDLE_FN void operator()(std::size_t, View<long> to, View<const long> a, View<const long> b,
                              std::uint64_t ns) const {
        bench::run_task(to[0], a[0], b[0], 0, ns);
    }
};
struct Task3 {
    HEDDLE_FN void operator()(std::size_t, View<long> to, View<const long> a, View<const long> b,
                              View<const long> c, std::uint64_t ns) const {
        bench::run_task(to[0], a[0], b[0], c[0], ns);
    }
};

/// Makes the program's calls, one after the other. `On` is any type with launch().
template <class On>
void run(On& on, const bench::PatternProgram& program, std::vector<Array<long>>& values,
         std::uint64_t ns) {
    for (const bench::PatternTask& task : program.tasks) {
        Array<long>& to = values[task.step % 2 * width + task.point];
        const auto from = [&](std::size_t k) -> const Array<long>& {
            return values[(task.step + 1) % 2 * width + task.reads[k]];
        };
        switch (task.reads.size()) {
        case 0: launch(on, Task0{}, dim(1), to, ns); break;
        case 1: launch(on, Task1{}, dim(1), to, from(0), ns); break;
        case 2: launch(on, Task2{}, dim(1), to, from(0), from(1), ns); break;
        default: launch(on, Task3{}, dim(1), to, from(0), from(1), from(2), ns); break;
        }
    }
}

struct Taken {
    bench::Pattern pattern;
    int threads;
    std::uint64_t ns;
};

bench::Result measure_pattern(const Taken& what, bool beside_taskflow, bool quick,
                              const DataOrderOptions& options, bool by_hand) {
    const std::size_t wanted = what.ns == 0        ? 1000
                               : what.ns == 1'000  ? 200
                               : what.ns == 10'000 ? 60
                                                   : 20;
    const bench::PatternProgram program(what.pattern, width, quick ? 5 : wanted);
    const Device device(DeviceKind::cpu, 0);
    const ScopedDevice on(device);
    std::vector<Array<long>> values;
    for (std::size_t i = 0; i < 2 * width; ++i) values.push_back(zeros<long>(8));
    synchronize_device(device);
    const Stream stream{device};
    DataOrder order(device, options);
    const auto peers =
        by_hand           ? std::vector<bench::Peer>{{"one stream", {[&](int calls) {
                                                for (int i = 0; i < calls; ++i)
                                                    run(stream, program, values, what.ns);
                                                stream.synchronize();
                                            }}}}
        : beside_taskflow ? bench::taskflow_patterns(program, what.threads, what.ns)
                          : bench::tbb_patterns(program, what.threads, what.ns);
    const bench::Side heddle{[&](int calls) {
        for (int i = 0; i < calls; ++i) {
            run(order, program, values, what.ns);
            order.synchronize();
        }
    }};
    const bench::Unit unit{"ns", 1e9 / static_cast<double>(program.tasks.size()), 0};
    return bench::measure({}, {}, heddle, peers.empty() ? bench::Peer{} : peers.front(),
                          {.calls = 1, .pairs = 200, .seconds = 2.0}, unit, quick);
}

void rows(bench::Report& report, const Taken& what, const DataOrderOptions& options,
          const std::string& suffix) {
    const std::string size =
        what.ns == 0 ? "empty tasks" : "tasks of " + std::to_string(what.ns / 1'000) + " µs";
    const std::string threads =
        std::to_string(what.threads) + (what.threads == 1 ? " thread" : " threads");
    struct Beside {
        bool taskflow, by_hand;
        std::string why_not, name;
    };
    const Beside all[] = {{true, false, bench::why_no_taskflow(), "Taskflow"},
                          {false, false, bench::why_no_tbb(), "oneTBB"},
                          {false, true, {}, "one stream"}};
    for (const Beside& beside : all) {
        const std::string name = std::string(name_of(what.pattern)) + ", " + size + ", " + threads +
                                 suffix + ", beside " + beside.name + ", each";
        if (!report.wants(name)) continue;
        if (beside.by_hand && what.ns > 1'000) continue;
        if (!beside.why_not.empty()) {
            static std::set<std::string> told;
            if (told.insert(beside.why_not).second)
                std::fprintf(stderr, "skipped: %s\n", beside.why_not.c_str());
            continue;
        }
        report.attempt(name, [&] {
            bench::Result row = bench::in_process(what.threads, [&] {
                return measure_pattern(what, beside.taskflow, report.quick(), options,
                                       beside.by_hand);
            });
            row.name = name;
            row.device = "cpu:0";
            row.unit = "ns";
            report.add(row);
        });
    }
}

/// Compares numbers of streams and kinds of waits. This shows the best default for a GPU.
void gpu_rows(bench::Report& report, Device device) {
    for (const std::uint64_t ns : {0u, 10'000u, 100'000u})
        for (const bench::Pattern pattern : bench::all_patterns)
            for (const int streams : {1, 2, 4, 8, 16})
                for (const DataWaits waits : {DataWaits::newest, DataWaits::exact}) {
                    // On one stream, the two kinds of waits do not differ.
                    if (streams == 1 && waits == DataWaits::newest) continue;
                    const std::string name =
                        std::string(name_of(pattern)) + ", kernels of " +
                        std::to_string(ns / 1'000) + " µs, " + std::to_string(streams) +
                        " streams, " + (waits == DataWaits::newest ? "newest" : "exact") + ", each";
                    if (!report.wants(name)) continue;
                    const bench::PatternProgram program(pattern, width, report.quick() ? 5 : 50);
                    const ScopedDevice on(device);
                    std::vector<Array<long>> values;
                    for (std::size_t i = 0; i < 2 * width; ++i) values.push_back(zeros<long>(8));
                    synchronize_device(device);
                    const Stream stream{device};
                    DataOrder order(device, {.streams = streams, .waits = waits});
                    const bench::Side heddle{[&](int calls) {
                        for (int i = 0; i < calls; ++i) {
                            run(order, program, values, ns);
                            order.synchronize();
                        }
                    }};
                    const bench::Side one{[&](int calls) {
                        for (int i = 0; i < calls; ++i) {
                            run(stream, program, values, ns);
                            stream.synchronize();
                        }
                    }};
                    const bench::Unit unit{"ns", 1e9 / static_cast<double>(program.tasks.size()),
                                           0};
                    report.compare(name, device.name(), heddle, {"one stream", one},
                                   {.calls = 1, .pairs = 50, .seconds = 0.5}, unit);
                }
}

/// Measures the time to make an order and to end it.
void order_row(bench::Report& report, Device device) {
    const std::string name = "an order made and ended, beside its streams";
    if (!report.wants(name)) return;
    const ScopedDevice on(device);
    const std::size_t streams = device.is_cuda() ? 11 : 2;
    const bench::Side heddle{[&](int calls) {
        for (int i = 0; i < calls; ++i) const DataOrder order(device);
    }};
    const bench::Side by_hand{[&](int calls) {
        for (int i = 0; i < calls; ++i) {
            std::vector<Stream> all;
            for (std::size_t k = 0; k < streams; ++k) all.emplace_back(device);
        }
    }};
    report.compare(name, device.name(), heddle, {std::to_string(streams) + " streams", by_hand},
                   {.calls = 20, .pairs = 50, .seconds = 0.5}, {"µs", 1e6, 0});
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_by_data", argc, argv);
    const bool on_cpu = report.device().empty() || report.device().starts_with("cpu");
    const bool on_cuda = report.device().empty() || report.device().starts_with("cuda");
    // Must precede any use of heddle: each row is measured in a child process with its own number
    // of threads.
    for (const int threads : {1, 2})
        for (const std::uint64_t ns : {0u, 1'000u, 10'000u, 100'000u})
            for (const bench::Pattern pattern : bench::all_patterns) {
                if (!on_cpu || (report.quick() && ns > 1'000)) continue;
                rows(report, {pattern, threads, ns}, {}, "");
                if (!report.only().empty() && ns <= 1'000)
                    rows(report, {pattern, threads, ns}, {.waits = DataWaits::exact}, " (exact)");
            }
    if (on_cpu) order_row(report, Device(DeviceKind::cpu, 0));
    if (on_cuda && device_count(DeviceKind::cuda) > 0) {
        const Device device = report.device().empty() || report.device() == "cuda"
                                  ? Device(DeviceKind::cuda, 0)
                                  : Device(report.device());
        order_row(report, device);
        gpu_rows(report, device);
    }
    return report.finish();
}
