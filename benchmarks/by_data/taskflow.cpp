// bench_by_data: Taskflow.
#include <taskflow/taskflow.hpp>

#include "by_data/parts.hpp"

namespace bench {

namespace {

struct Graph {
    const PatternProgram& program;
    std::uint64_t ns;
    tf::Executor executor;
    std::vector<PatternValue> values;

    Graph(const PatternProgram& of, int threads, std::uint64_t of_ns)
        : program(of), ns(of_ns), executor(static_cast<std::size_t>(threads)),
          values((of.steps + 1) * of.width) {}

    long& at(std::size_t step, std::size_t point) {
        return values[(step + 1) * program.width + point].value;
    }
    void run() {
        tf::Taskflow graph;
        std::vector<tf::Task> before(program.width), now(program.width);
        std::size_t step = 0;
        for (const PatternTask& task : program.tasks) {
            if (task.step != step) std::swap(before, now), step = task.step;
            long& to = at(step, task.point);
            const long* from[3] = {};
            for (std::size_t k = 0; k < task.reads.size(); ++k)
                from[k] = &at(step - 1, task.reads[k]);
            now[task.point] = graph.emplace([&to, a = from[0], b = from[1], c = from[2], ns = ns] {
                run_task(to, a != nullptr ? *a : 0, b != nullptr ? *b : 0, c != nullptr ? *c : 0,
                         ns);
            });
            for (const std::size_t point : task.reads) now[task.point].succeed(before[point]);
        }
        executor.run(graph).wait();
    }
};

}  // namespace

std::vector<Peer> taskflow_patterns(const PatternProgram& program, int threads, std::uint64_t ns) {
    const auto graph = std::make_shared<Graph>(program, threads, ns);
    return {{"Taskflow " + std::string(tf::version()), {[graph](int calls) {
                 for (int i = 0; i < calls; ++i) graph->run();
             }}}};
}

std::string why_no_taskflow() { return {}; }

}  // namespace bench
