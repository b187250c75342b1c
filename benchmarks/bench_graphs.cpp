// Costs and gains of graphs (building from nodes, launching, changing) and of prepared launches. On
// CUDA, compares them with native graphs, used by hand. Compares whole graphs and batches with the
// same kernels launched one by one, and batches with native graphs, too. Compares dependent
// launches, in graphs, in batches and outside, with native ones.

#include <functional>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "devices.hpp"
#include "graphs/batches.hpp"
#include "graphs/parts.hpp"

using namespace heddle;
using bench::repeat;

namespace {

struct Nothing {
    HEDDLE_FN void operator()(std::size_t, int) const {}
};

/// A layer in a chain. It may read its weights before the previous kernel has finished.
struct Layer {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<const float> weights, View<float> x) const {
        const float weight = weights[i];
        wait_for_primary();
        x[i] = weight * x[i] + 1.0f;
        trigger_dependents();
    }
};

std::string count_of(int nodes) {
    return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
}

/// A chain of empty kernels.
Graph chain(Device device, int nodes) {
    auto last = kernel_node(device, Nothing{}, dim(1), 0);
    for (int i = 1; i < nodes; ++i) last = kernel_node(device, Nothing{}, dim(1), 0).after(last);
    return last.build();
}

Graph side_by_side(Device device, int nodes) {
    auto end = empty_node(device);
    for (int i = 0; i < nodes; ++i) end.after(kernel_node(device, Nothing{}, dim(1), 0));
    return end.build();
}

void launches(bench::Report& report, Device device) {
    const Stream s{device};
    for (const int nodes : {1, 10, 100, 1000}) {
        const std::string name = "launch of a graph of " + count_of(nodes);
        if (!report.wants(name)) continue;
        Graph graph = chain(device, nodes);
        graph.instantiate();
        graph.upload(s);
        const int calls = nodes <= 10 ? 50 : nodes == 100 ? 5 : 1;
        report.compare(
            name, device.name(), {repeat([&] { graph.launch(s); }), [&] { s.synchronize(); }},
            bench::raw_graph_launch(device, nodes), {.calls = calls, .pairs = 400, .seconds = 1.0});
    }
}

void builds(bench::Report& report, Device device) {
    const int nodes = 1000;
    const bench::Batches batches{.calls = 1, .pairs = 100, .seconds = 1.0};
    const bench::Unit each{"ns", 1e9 / nodes, 0};
    report.compare("a node, made and built into a graph (of " + count_of(nodes) + ")",
                   device.name(), {repeat([&] { bench::keep(chain(device, nodes)); })},
                   bench::raw_graph_build(device, nodes, false), batches, each);
    report.compare("a node, made, built into a graph and instantiated", device.name(), {repeat([&] {
                       Graph graph = chain(device, nodes);
                       graph.instantiate();
                   })},
                   bench::raw_graph_build(device, nodes, true), batches, each);
}

void changes(bench::Report& report, Device device) {
    const Stream s{device};
    auto node = kernel_node(device, Nothing{}, dim(1), 0);
    Graph graph = node.build();
    graph.instantiate();
    report.compare("new arguments for a graph of one kernel, and its launch", device.name(),
                   {repeat([&](int i) {
                        node.args(i);
                        graph.launch(s);
                    }),
                    [&] { s.synchronize(); }},
                   bench::raw_graph_update(device, 1, false),
                   {.calls = 50, .pairs = 400, .seconds = 1.0});
}

void prepared(bench::Report& report, Device device) {
    const Stream s{device};
    const bench::Batches batches{.calls = 50, .pairs = 400, .seconds = 1.0};
    const auto finish = [&] { s.synchronize(); };
    auto ready = prepare(device, Nothing{}, dim(1), 0);
    ready.launch(s);
    const bench::Side unchanged{repeat([&] { ready.launch(s); }), finish};
    const bench::Side changed{repeat([&](int i) {
                                  ready.set<0>(i);
                                  ready.launch(s);
                              }),
                              finish};
    const auto add = [&](const char* name, const bench::Side& side, const bench::Peer& by_hand) {
        report.compare(name, device.name(), side, bench::raw_launch(device), batches);
        if (by_hand.side.run) report.compare(name, device.name(), side, by_hand, batches);
    };
    add("PreparedLaunch, unchanged", unchanged, bench::raw_graph_launch(device, 1));
    add("PreparedLaunch, another argument every time", changed,
        bench::raw_graph_update(device, 1, false));
}

void runs(bench::Report& report, Device device) {
    const Stream s{device};
    const int nodes = device.is_cuda() ? 1000 : 10'000;
    const bench::Unit each{"ns", 1e9 / nodes, 0};
    const bench::Batches batches{.calls = 1, .pairs = 100, .seconds = 1.0};
    const bench::Peer one_by_one =
        device.is_cuda() ? bench::raw_launches(device, nodes)
                         : bench::Peer{"heddle, as many launches on one stream", {repeat([&] {
                                           for (int i = 0; i < nodes; ++i)
                                               launch(s, Nothing{}, dim(1), i);
                                           s.synchronize();
                                       })}};
    const auto run = [&](Graph& graph) {
        return repeat([&] {
            graph.launch(s);
            s.synchronize();
        });
    };
    Graph in_a_row = chain(device, nodes), apart = side_by_side(device, nodes);
    in_a_row.instantiate();
    apart.instantiate();
    report.compare("a node of a chain of " + count_of(nodes) + ", run to the end", device.name(),
                   {run(in_a_row)}, one_by_one, batches, each);
    report.compare("a node of " + count_of(nodes) + " side by side, run to the end", device.name(),
                   {run(apart)}, one_by_one, batches, each);
}

/// Like add_batches(), but with empty kernels, so that the launches and not the device limit the
/// rate.
void empty_batches(bench::Report& report, Device device) {
    if (!device.is_cuda()) return;
    const Stream s{device};
    const ScopedStream in{s};
    constexpr int kernels = 1000;
    const bench::Batches rounds{.calls = 1, .pairs = 200, .seconds = 1.0};
    const bench::Unit each{"ns", 1e9 / kernels, 0};
    Batch step;
    int round = 0;
    const bench::Side in_batch{repeat([&] {
        step.run([&] {
            const int first = ++round * kernels;
            for (int i = 0; i < kernels; ++i) launch(Nothing{}, dim(1), first + i);
        });
        s.synchronize();
    })};
    for (const bench::Peer& peer :
         {bench::raw_launches(device, kernels), bench::raw_graph_update(device, kernels, true)})
        report.compare("an empty kernel of 1000 in a batch, arguments new each time, run to the "
                       "end",
                       device.name(), in_batch, peer, rounds, each);
}

/// One way to launch the same kernels: its name, a call that launches all, and whether its peers
/// are graphs.
struct Way {
    std::string name;
    std::function<void()> launch;
    bool in_graph;
};

/// Compares each way with two peers: the same calls by hand, and the older, slower method.
/// peer(improved, in_graph) returns the peer; `improved` selects the former.
template <class PeerOf>
void compare_ways(bench::Report& report, const std::string& what, const std::string& plain,
                  const std::vector<Way>& ways, StreamRef s, int kernels, const PeerOf& peer) {
    const bench::Batches batches{.calls = 1, .pairs = 200, .seconds = 1.0};
    const bench::Unit each{"ns", 1e9 / kernels, 0};
    for (const Way& way : ways) {
        const bench::Side side{repeat([&way, s] {
            way.launch();
            s.synchronize();
        })};
        for (const bool improved : {true, false})
            report.compare(what + way.name + ", beside " + (improved ? "the same by hand" : plain),
                           s.device().name(), side, peer(improved, way.in_graph), batches, each);
    }
}

/// Compares dependent launches, one by one, in a graph and in a batch, with two chains by hand: one
/// of dependent launches, and one of ordinary launches. The peers of the batch are graphs.
void dependent(bench::Report& report, Device device) {
    if (!device.is_cuda()) return;
    const Stream s{device};
    const ScopedStream in{s};
    constexpr std::size_t n = 4096;
    constexpr int kernels = 200;
    Array<float> weights = zeros<float>(n), x = zeros<float>(n);
    const auto layers = [&] {
        for (int i = 0; i < kernels; ++i)
            launch_dependent(Layer{}, dim(n).with({.block = 256}), weights, x);
    };
    Graph graph = capture(layers);
    graph.instantiate();
    Batch step;
    compare_ways(report, "a kernel of a chain of 200 dependent ones ", "the plain chain",
                 {{"launched one by one", layers, false},
                  {"in a graph", [&] { graph.launch(s); }, true},
                  {"in a batch", [&] { step.run(layers); }, true}},
                 s, kernels, [&](bool dependent_too, bool in_graph) {
                     return bench::raw_dependent_chain(device, kernels, dependent_too, in_graph);
                 });
}

/// Compares pairs of kernels on two streams, ordered by programmatic events, with pairs launched by
/// hand: once ordered by programmatic events, and once by ordinary events.
void triggered_pairs(bench::Report& report, Device device) {
    if (!device.is_cuda()) return;
    const Stream a{device}, b{device};
    constexpr std::size_t n = 4096;
    constexpr int pairs = 100;
    Array<float> weights = zeros<float>(a, n), x = zeros<float>(a, n);
    b.wait_stream(a);
    ProgrammaticEvent started(device);
    const auto all = [&] {
        for (int i = 0; i < pairs; ++i) {
            launch_triggering(a, started, Layer{}, dim(n).with({.block = 256}), weights, x);
            launch_dependent(b, started, Layer{}, dim(n).with({.block = 256}), weights, x);
            a.wait_stream(b);
        }
    };
    Graph graph = capture(a, all);
    graph.instantiate();
    compare_ways(
        report, "a kernel of 100 pairs on two streams with a programmatic event, ", "plain events",
        {{"launched one by one", all, false}, {"in a graph", [&] { graph.launch(a); }, true}}, a,
        2 * pairs, [&](bool triggered, bool in_graph) {
            return bench::raw_pairs(device, pairs, triggered, in_graph);
        });
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_graphs", argc, argv);
    for (const Device device : bench::chosen_devices(report)) {
        report.attempt("launches", [&] { launches(report, device); });
        report.attempt("builds", [&] { builds(report, device); });
        report.attempt("changes", [&] { changes(report, device); });
        report.attempt("prepared", [&] { prepared(report, device); });
        report.attempt("batches", [&] { bench::add_batches(report, device); });
        report.attempt("empty batches", [&] { empty_batches(report, device); });
        report.attempt("dependent", [&] { dependent(report, device); });
        report.attempt("pairs", [&] { triggered_pairs(report, device); });
        report.attempt("runs", [&] { runs(report, device); });
    }
    return report.finish();
}
