#include <heddle/algorithms.hpp>

#include "algorithms/parts.hpp"

using namespace heddle;

namespace bench {

Side algorithm_on_cpu(Job job, const DeviceNumbers& numbers) {
    const auto [s, in, out] = numbers;
    const auto run = [s = s](auto enqueue) {
        return repeat([s, enqueue] {
            enqueue();
            s.synchronize();
        });
    };
    const auto restore = [s = s, in = in, out = out] {
        copy(s, View<float>(out), in);
        s.synchronize();
    };
    switch (job) {
    case Job::sort:
        return {.run = run([s = s, out = out] { sort(s, View<float>(out)); }), .prepare = restore};
    case Job::sort_by_function:
        return {.run = run([s = s, out = out] {
                    sort(s, View<float>(out), [](float a, float b) { return a < b; });
                }),
                .prepare = restore};
    case Job::reduce:
        return {.run = run([s = s, in = in, out = out] { reduce(s, in, out.first(1)); })};
    default: return {.run = run([s = s, in = in, out = out] { inclusive_scan(s, in, View(out)); })};
    }
}

}  // namespace bench
