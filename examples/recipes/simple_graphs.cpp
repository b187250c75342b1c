// simpleCudaGraphs: a reduction as a graph, built from nodes and also captured from a stream. Both
// graphs, and a clone, are launched several times.
// Usage: example_recipe_simple_graphs [DEVICE]
#include <heddle/heddle.hpp>

#include <atomic>
#include <cstdio>

#include "../device_argument.hpp"

namespace hd = heddle;

struct PartialSums {  // sums[part] = the sum of one part of x
    HEDDLE_FN void operator()(std::size_t part, hd::View<const float> x,
                              hd::View<double> sums) const {
        const std::size_t size = x.size() / sums.size();
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(x[part * size + i]);
        sums[part] = sum;
    }
};
struct Total {
    HEDDLE_FN void operator()(std::size_t, hd::View<const double> sums,
                              hd::View<double> total) const {
        double sum = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) sum += sums[i];
        total[0] = sum;
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 18, parts = 512;
    constexpr int launches = 3;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    const hd::Stream stream;
    hd::Array<float> input = hd::pinned<float>(n), x = hd::empty<float>(stream, n);
    hd::Array<double> sums = hd::empty<double>(stream, parts), total = hd::empty<double>(stream, 1);
    hd::Array<double> result = hd::pinned<double>(1);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
        input[i] = static_cast<float>(i % 100);
        expected += static_cast<double>(input[i]);
    }
    std::atomic<int> right{0};
    const auto check = [&right, expected, result = result.view()] {
        if (result[0] == expected) ++right;
        result[0] = 0;
    };

    auto load = hd::copy_node(x, input);
    auto partial = hd::kernel_node(PartialSums{}, hd::dim(parts), x, sums).after(load);
    auto all = hd::kernel_node(Total{}, hd::dim(1), sums, total).after(partial);
    auto store = hd::copy_node(result, total).after(all);
    hd::Graph built = hd::host_node(check, hd::writes(result)).after(store).build();

    hd::Graph captured = hd::capture(stream, [&] {
        hd::copy(stream, x, input);
        hd::launch(stream, PartialSums{}, hd::dim(parts), x, sums);
        hd::launch(stream, Total{}, hd::dim(1), sums, total);
        hd::copy(stream, result, total);
        hd::launch_host(stream, check, hd::writes(result));
    });
    hd::Graph clone = captured.clone();

    for (int i = 0; i < launches; ++i)
        for (hd::Graph* graph : {&built, &captured, &clone}) graph->launch(stream);
    stream.synchronize();
    std::printf("%s: %zu and %zu nodes, %d of %d results are right\n",
                hd::current_device().name().c_str(), built.size(), captured.size(), right.load(),
                3 * launches);
    return right == 3 * launches ? 0 : 1;
}
