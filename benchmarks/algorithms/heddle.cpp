#include <heddle/algorithms.hpp>

#include "algorithms/parts.hpp"

using namespace heddle;

namespace bench {

Side algorithm_on_cpu(Job job, const DeviceNumbers& numbers) {
    const StreamRef s = numbers.stream;
    const View<const float> in = numbers.in;
    const View<float> out = numbers.out;
    const auto run = [s](auto enqueue) {
        return repeat([s, enqueue] {
            enqueue();
            s.synchronize();
        });
    };
    const auto restore = [=] {
        copy(s, out, in);
        s.synchronize();
    };
    switch (job) {
    case Job::sort: return {.run = run([=] { sort(s, out); }), .prepare = restore};
    case Job::sort_by_function:
        return {.run = run([=] { sort(s, out, [](float a, float b) { return a < b; }); }),
                .prepare = restore};
    case Job::reduce: return {.run = run([=] { reduce(s, in, out.first(1)); })};
    default: return {.run = run([=] { inclusive_scan(s, in, out); })};
    }
}

}  // namespace bench
