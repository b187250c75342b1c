// A chain of small kernels. Each kernel loads its own weights before it waits for the previous
// kernel. Usage: example_13_dependent_launch [DEVICE]
#include <heddle/heddle.hpp>

#include <chrono>
#include <cstdio>
#include <ratio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Layer {
    static constexpr bool waits_for_primary =
        true;  // the kernel calls wait_for_primary(), so dependent launches are allowed
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> weights,
                              hd::View<float> x) const {
        const float weight =
            weights[i];          // may overlap the previous kernel: no kernel writes the weights
        hd::wait_for_primary();  // because the previous kernel writes x
        x[i] = weight * x[i] + 1.0f;
        hd::trigger_dependents();  // from here on, the next kernel may load its weights
    }
};

int main(int argc, char** argv) {
    using clock = std::chrono::steady_clock;
    constexpr std::size_t n = 4096;
    constexpr int layers = 200;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    const hd::Stream stream;
    const hd::ScopedStream in{stream};
    hd::Array<float> weights = hd::full<float>(n * layers, 0.5f), x = hd::empty<float>(n);

    const auto time = [&](auto&& launch_one) {
        const auto chain = [&] {
            hd::fill(x, 4.0f);
            for (int l = 0; l < layers; ++l)
                launch_one(weights.view().subview(static_cast<std::size_t>(l) * n, n));
        };
        hd::Graph graph = hd::capture(chain);
        graph.launch();
        stream.synchronize();
        const auto start = clock::now();
        graph.launch();
        stream.synchronize();
        return std::chrono::duration<double, std::micro>(clock::now() - start).count() / layers;
    };
    const double plain =
        time([&](hd::View<const float> w) { hd::launch(Layer{}, hd::dim(n), w, x); });
    const std::vector<float> expected = hd::to_host(x);
    const double dependent =
        time([&](hd::View<const float> w) { hd::launch_dependent(Layer{}, hd::dim(n), w, x); });
    const std::vector<float> got = hd::to_host(x);

    std::printf("%s: %.2f us a layer in plain order, %.2f us with dependent launches\n",
                hd::current_device().name().c_str(), plain, dependent);
    return got == expected && got[n - 1] == 2.0f ? 0 : 1;
}
