// A graph built from nodes, launched many times, and changed between launches. Usage:
// example_08_graph_nodes [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Scale {
    HEDDLE_FN void operator()(std::size_t i, float factor, hd::View<float> x) const {
        x[i] *= factor;
    }
};
struct Add {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<float> y) const {
        y[i] += x[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 16;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    hd::Array<float> x = hd::zeros<float>(n), y = hd::zeros<float>(n);

    auto start_x = hd::fill_node(x, 1);  // these nodes belong to no graph yet
    auto start_y = hd::fill_node(y, 2);
    auto scale = hd::kernel_node(Scale{}, hd::dim(n))
                     .after(start_x)
                     .name("scale");  // its arguments are set below
    auto sum = hd::kernel_node(Add{}, hd::dim(n), x, y).after(scale, start_y);
    scale.args(10.0f, x);

    hd::Graph graph = sum.build();  // has `sum` and all its dependencies; the two fills may overlap
    graph.launch();
    const float first = hd::to_host(y)[n - 1];

    scale.args(100.0f, x);  // takes effect in the next launch
    graph.launch();
    const float second = hd::to_host(y)[n - 1];

    graph.node("scale").disable();
    graph.launch();
    const float third = hd::to_host(y)[n - 1];

    std::printf("%s: %g, %g, %g\n%s", hd::current_device().name().c_str(), first, second, third,
                graph.dot().c_str());
    return first == 12 && second == 102 && third == 3 ? 0 : 1;
}
