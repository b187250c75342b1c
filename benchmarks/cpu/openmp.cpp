// bench_cpu: OpenMP. Each task depends on the previous one, which keeps them in order.
#include <memory>

#include "cpu/parts.hpp"

namespace bench {

std::vector<Peer> openmp_queues(int queues, std::uint64_t ns) {
    const auto counters = std::make_shared<std::vector<Counter>>(static_cast<std::size_t>(queues));
    return {{"OpenMP, tasks that depend",
             {[=](int calls) {
                  Counter* const all = counters->data();
                  const int count = static_cast<int>(counters->size());
#pragma omp parallel
#pragma omp single
                  for (int i = 0; i < calls; ++i) {
                      Counter* const mine = all + i % count;
#pragma omp task firstprivate(mine) depend(inout : mine[0])
                      mine->operate(ns);
                  }
              },
              let_threads_sleep}}};
}

std::vector<Peer> openmp_fork_joins(int branches, std::uint64_t ns) {
    const auto counters =
        std::make_shared<std::vector<Counter>>(static_cast<std::size_t>(branches));
    return {{"OpenMP, parallel for, dynamic",
             {repeat([=] {
                  Counter* const all = counters->data();
#pragma omp parallel for schedule(dynamic, 1)
                  for (int i = 0; i < branches; ++i) all[i].operate(ns);
              }),
              let_threads_sleep}}};
}

std::vector<Peer> openmp_triads(int threads, std::size_t count, const float* x, const float* y,
                                float* z) {
    const auto triad = repeat([=] {
#pragma omp parallel for simd schedule(static) num_threads(threads)
        for (std::size_t i = 0; i < count; ++i) z[i] = x[i] + 3.0f * y[i];
    });
    return {{"OpenMP, parallel for simd, static", {triad, let_threads_sleep}}};
}

}  // namespace bench
