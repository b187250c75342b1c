// CPU devices, compared with alternatives to heddle: a queue that has its own thread, oneTBB, and
// OpenMP. Measures whole runs including the work (bench_costs measures single calls):
//   - the triad z = x + 3 y, by one thread and more, up to one for each processor;
//   - operations one after the other on one stream, in a graph, and on two streams in turn;
//   - independent operations on 1 to 64 streams;
//   - fork_join_n of 2 to 16 branches;
//   - the time to wake a sleeping thread.

#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "cpu/parts.hpp"
#include "cpu/threads.hpp"
#include "devices.hpp"

using namespace heddle;
using bench::Batches;
using bench::Counter;
using bench::Peer;
using bench::repeat;
using bench::Side;

namespace {

struct Empty {
    HEDDLE_FN void operator()(std::size_t) const {}
};

/// Adds one row for each peer. If there are no peers, adds one row for heddle alone.
void compare_all(bench::Report& report, const std::string& name, Device device, const Side& heddle,
                 const std::vector<std::vector<Peer>>& peers, const Batches& batches,
                 const bench::Unit& unit = bench::in_ns) {
    bool alone = true;
    for (const std::vector<Peer>& some : peers)
        for (const Peer& peer : some) {
            report.compare(name, device.name(), heddle, peer, batches, unit);
            alone = false;
        }
    if (alone) report.compare(name, device.name(), heddle, {}, batches, unit);
}

/// One call enqueues and runs one operation.
void chains(bench::Report& report, Device device) {
    for (const int length : {1'000, 10'000, 1'000'000}) {
        const std::string name =
            "chain of " + std::to_string(length) + " host functions, run to the end, each";
        if (!report.wants(name)) continue;
        const Stream s{device};
        Counter counter;
        const Batches batches{.calls = length, .pairs = 500, .seconds = 2.0, .quick_calls = 1'000};
        compare_all(report, name, device, {[&](int calls) {
                        for (int i = 0; i < calls; ++i)
                            launch_host(s, [&counter] { counter.operate(0); });
                        s.synchronize();
                    }},
                    {bench::plain_chains(), bench::tbb_chains()}, batches);
    }
    const std::string name = "chain of 10000 empty kernels, run to the end, each";
    if (!report.wants(name)) return;
    const Stream s{device};
    compare_all(report, name, device, {[&](int calls) {
                    for (int i = 0; i < calls; ++i) launch(s, Empty{}, dim(1));
                    s.synchronize();
                }},
                {bench::plain_chains()},
                {.calls = 10'000, .pairs = 500, .seconds = 2.0, .quick_calls = 1'000});
}

/// Measures the operations of chains() as nodes of a graph that already exists.
void graph_chains(bench::Report& report, Device device) {
    const std::string name =
        "graph of a chain of 10000 host functions, made before, run to the end, each";
    if (!report.wants(name)) return;
    const int length = report.quick() ? 1'000 : 10'000;
    const Stream s{device};
    Counter counter;
    const auto operate = [&counter] { counter.operate(0); };
    auto last = host_node(device, operate);
    for (int i = 1; i < length; ++i) last = host_node(device, operate).after(last);
    Graph graph = last.build();
    graph.instantiate();
    compare_all(report, name, device, {[&](int) {
                    graph.launch(s);
                    s.synchronize();
                }},
                {bench::tbb_graphs()}, {.calls = length, .pairs = 500, .seconds = 2.0});
}

/// Measures operations that alternate between two streams. One call enqueues an operation, and
/// makes the other stream wait for it.
void in_turn(bench::Report& report, Device device) {
    const Stream a{device}, b{device};
    Counter counter;
    report.compare("two streams in turn: launch_host, wait_stream, run to the end", device.name(),
                   {[&](int calls) {
                       for (int i = 0; i < calls; i += 2) {
                           launch_host(a, [&counter] { counter.operate(0); });
                           b.wait_stream(a);
                           launch_host(b, [&counter] { counter.operate(0); });
                           a.wait_stream(b);
                       }
                       a.synchronize();
                   }},
                   {}, {.calls = 100'000, .pairs = 9, .seconds = 3.0, .quick_calls = 2'000});
}

void independent(bench::Report& report, Device device) {
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{1'000}})
        for (const int streams : {1, 2, 4, 8, 16, 32, 64}) {
            const std::string name =
                std::string("independent operations ") + (ns == 0 ? "that do nothing" : "of 1 µs") +
                " on " + std::to_string(streams) + (streams == 1 ? " stream" : " streams");
            if (!report.wants(name)) continue;
            std::vector<Stream> all;
            for (int i = 0; i < streams; ++i) all.emplace_back(device);
            std::vector<Counter> counters(all.size());
            const Batches batches{.calls = ns == 0 ? 64'000 : 6'400,
                                  .pairs = 100,
                                  .seconds = 1.0,
                                  .quick_calls = ns == 0 ? 2'000 : 200};
            compare_all(report, name, device, {[&](int calls) {
                            for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i)
                                launch_host(all[i % all.size()], [c = &counters[i % all.size()],
                                                                  ns] { c->operate(ns); });
                            for (const Stream& stream : all) stream.synchronize();
                        }},
                        {bench::plain_queues(streams, ns), bench::tbb_queues(streams, ns),
                         bench::openmp_queues(streams, ns)},
                        batches);
        }
}

void fork_joins(bench::Report& report, Device device) {
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{20'000}})
        for (const int branches : {2, 4, 8, 16}) {
            const std::string name = "fork_join_n of " + std::to_string(branches) + " operations " +
                                     (ns == 0 ? "that do nothing" : "of 20 µs") +
                                     ", run to the end";
            if (!report.wants(name)) continue;
            const Stream base{device};
            std::vector<Counter> counters(static_cast<std::size_t>(branches));
            compare_all(
                report, name, device, {repeat([&] {
                    fork_join_n(base, counters.size(), [&](std::size_t i, StreamRef stream) {
                        launch_host(stream, [c = &counters[i], ns] { c->operate(ns); });
                    });
                    base.synchronize();
                })},
                {bench::plain_fork_joins(branches, ns), bench::tbb_fork_joins(branches, ns),
                 bench::openmp_fork_joins(branches, ns)},
                {.calls = 100, .pairs = 200, .seconds = 1.0, .quick_calls = 20}, bench::in_us);
        }
}

/// Measures the time to wake a sleeping worker from the calling thread, and the calling thread from
/// a worker.
void wakes(bench::Report& report, Device device) {
    const Stream s{device};
    Counter counter;
    std::atomic<bool> begun{false};
    const auto begin = repeat([&] {
        begun = false;
        launch_host(s, [&begun] { begun = true; });
        while (!begun) std::this_thread::yield();
    });
    // The calling thread polls, so it does not run work.
    const auto asleep = [](Side side) {
        side.prepare = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
        return side;
    };
    for (const bool awake : {false, true}) {
        std::vector<std::vector<Peer>> peers{bench::plain_wakes(), bench::tbb_wakes()};
        if (!awake)
            for (std::vector<Peer>& some : peers)
                for (Peer& peer : some) peer.side = asleep(peer.side);
        compare_all(report,
                    awake ? "launch_host until it begins, again and again"
                          : "launch_host until it begins, the workers asleep",
                    device, awake ? Side{begin} : asleep({begin}), peers,
                    awake ? Batches{.calls = 2'000, .pairs = 50, .seconds = 2.0, .quick_calls = 100}
                          : Batches{.calls = 1, .pairs = 500, .seconds = 2.0},
                    bench::in_us);
    }
    compare_all(report, "launch_host and synchronize", device, {repeat([&] {
                    launch_host(s, [&counter] { counter.operate(0); });
                    s.synchronize();
                })},
                {bench::plain_round_trips()},
                {.calls = 2'000, .pairs = 50, .seconds = 2.0, .quick_calls = 100}, bench::in_us);
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_cpu", argc, argv);
    bench::add_triads(report);  // must be first: starts processes with different numbers of threads
    for (const Device device : bench::chosen_devices(report)) {
        if (!device.is_cpu()) continue;
        report.attempt("chains", [&] { chains(report, device); });
        report.attempt("graph chains", [&] { graph_chains(report, device); });
        report.attempt("in turn", [&] { in_turn(report, device); });
        report.attempt("independent", [&] { independent(report, device); });
        report.attempt("fork_join", [&] { fork_joins(report, device); });
        report.attempt("wakes", [&] { wakes(report, device); });
    }
    return report.finish();
}
