// bench_costs: oneTBB's ways of running trivial operations one after the other.
#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>

#include "costs/parts.hpp"

namespace bench {

namespace flow = oneapi::tbb::flow;

namespace {

using Node = flow::continue_node<flow::continue_msg>;

/// A node for each operation, each after the one before.
struct Chain {
    flow::graph graph;
    std::vector<std::unique_ptr<Node>> nodes;

    Chain(int count, long& counter) {
        nodes.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            nodes.push_back(
                std::make_unique<Node>(graph, [&counter](const flow::continue_msg&) { ++counter; }));
            if (i > 0) flow::make_edge(*nodes[nodes.size() - 2], *nodes.back());
        }
    }
    void run() {
        if (!nodes.empty()) nodes.front()->try_put(flow::continue_msg());
        graph.wait_for_all();
    }
};

}  // namespace

std::vector<Peer> tbb_chains(long& counter) {
    std::vector<Peer> peers;
    peers.push_back({"oneTBB, chain of continue_nodes built and run",
                     {[&counter](int calls) { Chain(calls, counter).run(); }}});

    const auto built = std::make_shared<std::unique_ptr<Chain>>();
    peers.push_back({"oneTBB, chain of continue_nodes built before, run", {[&counter, built](int calls) {
                         if (*built == nullptr)
                             *built = std::make_unique<Chain>(calls, counter);  // in the warm-up
                         (*built)->run();
                     }}});

    struct Serial {
        flow::graph graph;
        flow::function_node<int> node;
        explicit Serial(long& count) : node(graph, flow::serial, [&count](int) { ++count; }) {}
    };
    const auto serial = std::make_shared<Serial>(counter);
    peers.push_back({"oneTBB, serial function_node", {[serial](int calls) {
                         for (int i = 0; i < calls; ++i) serial->node.try_put(i);
                         serial->graph.wait_for_all();
                     }}});
    return peers;
}

}  // namespace bench
