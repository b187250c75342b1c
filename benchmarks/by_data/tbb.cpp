// bench_by_data: oneTBB's flow graph.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <deque>

#include "by_data/parts.hpp"

namespace bench {

namespace {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

struct Graph {
    const PatternProgram& program;
    std::uint64_t ns;
    oneapi::tbb::global_control limit;
    oneapi::tbb::task_arena arena;
    std::vector<PatternValue> values;

    Graph(const PatternProgram& of, int threads, std::uint64_t of_ns)
        : program(of), ns(of_ns), limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                        static_cast<std::size_t>(threads)),
          arena(threads), values((of.steps + 1) * of.width) {}

    long& at(std::size_t step, std::size_t point) {
        return values[(step + 1) * program.width + point].value;
    }
    void run() {
        arena.execute([this] {
            flow::graph graph;
            std::deque<Node> nodes;
            std::vector<Node*> before(program.width), now(program.width), first;
            std::size_t step = 0;
            for (const PatternTask& task : program.tasks) {
                if (task.step != step) std::swap(before, now), step = task.step;
                long& to = at(step, task.point);
                const long* from[3] = {};
                for (std::size_t k = 0; k < task.reads.size(); ++k)
                    from[k] = &at(step - 1, task.reads[k]);
                Node& node = nodes.emplace_back(graph, [&to, a = from[0], b = from[1], c = from[2],
                                                        ns = ns](const flow::continue_msg&) {
                    run_task(to, a != nullptr ? *a : 0, b != nullptr ? *b : 0,
                             c != nullptr ? *c : 0, ns);
                });
                now[task.point] = &node;
                for (const std::size_t point : task.reads) flow::make_edge(*before[point], node);
                if (task.reads.empty()) first.push_back(&node);
            }
            for (Node* node : first) node->try_put({});
            graph.wait_for_all();
        });
    }
};

}  // namespace

std::vector<Peer> tbb_patterns(const PatternProgram& program, int threads, std::uint64_t ns) {
    const auto graph = std::make_shared<Graph>(program, threads, ns);
    return {{"oneTBB " + std::to_string(TBB_VERSION_MAJOR) + "." +
                 std::to_string(TBB_VERSION_MINOR) + " flow graph",
             {[graph](int calls) {
                 for (int i = 0; i < calls; ++i) graph->run();
             }}}};
}

std::string why_no_tbb() { return {}; }

}  // namespace bench
