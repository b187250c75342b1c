// libstdc++ runs its parallel algorithms on oneTBB.
#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <version>
#if defined(__cpp_lib_execution)
#include <execution>
#endif

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include "algorithms/parts.hpp"

namespace bench {

namespace {

bool is_less(float a, float b) { return a < b; }

Side by_tbb(Job job, const HostNumbers& numbers) {
    using Range = tbb::blocked_range<std::size_t>;
    const std::span<const float> in = numbers.in;
    const std::span<float> out = numbers.out;
    const auto restore = [in, out] { std::copy(in.begin(), in.end(), out.begin()); };
    switch (job) {
    case Job::sort:
        return {.run = repeat([out] { tbb::parallel_sort(out.begin(), out.end()); }),
                .prepare = restore};
    case Job::sort_by_function:
        return {.run = repeat([out] {
                    tbb::parallel_sort(out.begin(), out.end(),
                                       [](float a, float b) { return is_less(a, b); });
                }),
                .prepare = restore};
    case Job::reduce:
        return {.run = repeat([in, out] {
                    const auto add = [&](const Range& range, float sum) {
                        for (std::size_t i = range.begin(); i < range.end(); ++i) sum += in[i];
                        return sum;
                    };
                    out[0] = tbb::parallel_reduce(Range(0, in.size()), 0.0f, add, std::plus<>());
                })};
    default:
        return {.run = repeat([in, out] {
                    const auto add = [&](const Range& range, float sum, bool is_final) {
                        for (std::size_t i = range.begin(); i < range.end(); ++i) {
                            sum += in[i];
                            if (is_final) out[i] = sum;
                        }
                        return sum;
                    };
                    keep(tbb::parallel_scan(Range(0, in.size()), 0.0f, add, std::plus<>()));
                })};
    }
}

#if defined(__cpp_lib_execution)
Side by_standard(Job job, const HostNumbers& numbers) {
    const std::span<const float> in = numbers.in;
    const std::span<float> out = numbers.out;
    const auto restore = [in, out] { std::copy(in.begin(), in.end(), out.begin()); };
    constexpr auto& par = std::execution::par;
    switch (job) {
    case Job::sort:
        return {.run = repeat([out] { std::sort(par, out.begin(), out.end()); }),
                .prepare = restore};
    case Job::sort_by_function:
        return {.run = repeat([out] {
                    std::stable_sort(par, out.begin(), out.end(),
                                     [](float a, float b) { return is_less(a, b); });
                }),
                .prepare = restore};
    case Job::reduce:
        return {.run = repeat([in, out] { out[0] = std::reduce(par, in.begin(), in.end()); })};
    default:
        return {.run = repeat(
                    [in, out] { std::inclusive_scan(par, in.begin(), in.end(), out.begin()); })};
    }
}
#endif

}  // namespace

std::vector<Peer> host_algorithms(Job job, const HostNumbers& numbers) {
    std::vector<Peer> all{{"oneTBB", by_tbb(job, numbers)}};
#if defined(__cpp_lib_execution)
    all.push_back({job == Job::sort_by_function ? "std::stable_sort(par)" : "std, par",
                   by_standard(job, numbers)});
#endif
    return all;
}

}  // namespace bench
