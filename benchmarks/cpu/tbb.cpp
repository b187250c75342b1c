// bench_cpu: oneTBB. Nodes of flow graphs keep operations in order.
#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "cpu/parts.hpp"

namespace bench {

namespace flow = oneapi::tbb::flow;

namespace {

using Node = flow::continue_node<flow::continue_msg>;

/// A chain of nodes, one for each operation.
struct Chain {
    flow::graph graph;
    std::vector<std::unique_ptr<Node>> nodes;

    Chain(int count, Counter& counter) {
        nodes.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            nodes.push_back(std::make_unique<Node>(
                graph, [&counter](const flow::continue_msg&) { counter.operate(0); }));
            if (i > 0) flow::make_edge(*nodes[nodes.size() - 2], *nodes.back());
        }
    }
    void run() {
        if (!nodes.empty()) nodes.front()->try_put(flow::continue_msg());
        graph.wait_for_all();
    }
};

/// Nodes, each of which runs its own operations one after the other.
struct Serial {
    std::vector<Counter> counters;
    flow::graph graph;
    std::vector<std::unique_ptr<flow::function_node<int>>> nodes;

    Serial(int count, std::uint64_t ns) : counters(static_cast<std::size_t>(count)) {
        for (Counter& counter : counters)
            nodes.push_back(std::make_unique<flow::function_node<int>>(
                graph, flow::serial, [&counter, ns](int) { counter.operate(ns); }));
    }
    void run(int calls) {
        for (int i = 0; i < calls; ++i)
            nodes[static_cast<std::size_t>(i) % nodes.size()]->try_put(i);
        graph.wait_for_all();
    }
};

}  // namespace

std::vector<Peer> tbb_chains() {
    const auto counter = std::make_shared<Counter>();
    const auto serial = std::make_shared<Serial>(1, 0);
    return {{"oneTBB, chain of continue_nodes built and run",
             {[counter](int calls) { Chain(calls, *counter).run(); }}},
            {"oneTBB, serial function_node", {[serial](int calls) { serial->run(calls); }}}};
}

std::vector<Peer> tbb_graphs() {
    const auto counter = std::make_shared<Counter>();
    const auto built = std::make_shared<std::unique_ptr<Chain>>();
    return {{"oneTBB, chain of continue_nodes built before", {[counter, built](int calls) {
                 if (*built == nullptr)
                     *built = std::make_unique<Chain>(calls, *counter);  // runs in the warm-up
                 (*built)->run();
             }}}};
}

std::vector<Peer> tbb_queues(int queues, std::uint64_t ns) {
    const auto serial = std::make_shared<Serial>(queues, ns);
    return {{"oneTBB, serial function_nodes", {[serial](int calls) { serial->run(calls); }}}};
}

std::vector<Peer> tbb_fork_joins(int branches, std::uint64_t ns) {
    const auto counters =
        std::make_shared<std::vector<Counter>>(static_cast<std::size_t>(branches));
    const auto group = std::make_shared<oneapi::tbb::task_group>();
    return {{"oneTBB, task_group", {repeat([=] {
                 for (Counter& counter : *counters)
                     group->run([&counter, ns] { counter.operate(ns); });
                 group->wait();
             })}}};
}

std::vector<Peer> tbb_wakes() {
    const auto arena = std::make_shared<oneapi::tbb::task_arena>();
    const auto begun = std::make_shared<std::atomic<bool>>(false);
    return {{"oneTBB, task_arena::enqueue", {repeat([=] {
                 *begun = false;
                 arena->enqueue([flag = begun.get()] { *flag = true; });
                 while (!*begun) std::this_thread::yield();
             })}}};
}

}  // namespace bench
