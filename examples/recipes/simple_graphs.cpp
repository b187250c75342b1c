// simpleCudaGraphs: a reduction as a graph, built from nodes and also captured from a stream. Both
// graphs, and a clone, are launched several times.
// Usage: example_recipe_simple_graphs [DEVICE]
#include <heddle/heddle.hpp>

#include <atomic>
#include <cstdio>

#include "../device_argument.hpp"

using namespace heddle;

struct PartialSums {  // sums[part] = the sum of one part of x
    HEDDLE_FN void operator()(std::size_t part, View<const float> x, View<double> sums) const {
        const std::size_t size = x.size() / sums.size();
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(x[part * size + i]);
        sums[part] = sum;
    }
};
struct Total {
    HEDDLE_FN void operator()(std::size_t, View<const double> sums, View<double> total) const {
        double sum = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) sum += sums[i];
        total[0] = sum;
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 18, parts = 512;
    constexpr int launches = 3;
    const ScopedDevice on{device_argument(argc, argv)};
    const Stream stream;
    Array<float> input = pinned<float>(n), x = empty<float>(stream, n);
    Array<double> sums = empty<double>(stream, parts), total = empty<double>(stream, 1);
    Array<double> result = pinned<double>(1);
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

    auto load = copy_node(x, input);
    auto partial = kernel_node(PartialSums{}, dim(parts), x, sums).after(load);
    auto all = kernel_node(Total{}, dim(1), sums, total).after(partial);
    auto store = copy_node(result, total).after(all);
    Graph built = host_node(check, writes(result)).after(store).build();

    Graph captured = capture(stream, [&] {
        copy(stream, x, input);
        launch(stream, PartialSums{}, dim(parts), x, sums);
        launch(stream, Total{}, dim(1), sums, total);
        copy(stream, result, total);
        launch_host(stream, check, writes(result));
    });
    Graph clone = captured.clone();

    for (int i = 0; i < launches; ++i)
        for (Graph* graph : {&built, &captured, &clone}) graph->launch(stream);
    stream.synchronize();
    std::printf("%s: %zu and %zu nodes, %d of %d results are right\n",
                current_device().name().c_str(), built.size(), captured.size(), right.load(),
                3 * launches);
    return right == 3 * launches ? 0 : 1;
}
