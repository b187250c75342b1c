// Many small kernels at a fraction of the launch cost: a batch submits its work as one graph.
// Usage: example_10_batches [DEVICE]
#include <heddle/heddle.hpp>

#include <chrono>
#include <cstdio>
#include <ratio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Relax {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<float> y,
                              float weight) const {
        const std::size_t left = i == 0 ? i : i - 1, right = i + 1 == x.size() ? i : i + 1;
        y[i] = x[i] + weight * (x[left] - 2 * x[i] + x[right]);
    }
};

int main(int argc, char** argv) {
    using clock = std::chrono::steady_clock;
    constexpr std::size_t n = 1024;
    constexpr int steps = 200, kernels = 100;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    const hd::Stream stream;
    const hd::ScopedStream in{stream};

    const auto run = [&](auto&& step) {
        hd::Array<float> x = hd::zeros<float>(n), y = hd::zeros<float>(n);
        hd::fill(x.view().first(1), 1.0f);
        stream.synchronize();
        const auto start = clock::now();
        for (int s = 0; s < steps; ++s)
            step([&] {
                for (int k = 0; k < kernels; ++k)  // each launch has a different weight
                    hd::launch(Relax{}, hd::dim(n), k % 2 == 0 ? x : y, k % 2 == 0 ? y : x,
                               0.1f + 0.001f * static_cast<float>(s));
            });
        const double host = std::chrono::duration<double, std::micro>(clock::now() - start).count();
        std::vector<float> result = hd::to_host(x);
        return std::pair{host / (steps * kernels), result};
    };

    hd::Batch batch;  // remembers graphs of earlier steps
    const auto [eager, expected] = run([](auto&& body) { body(); });
    const auto [batched, got] = run([&](auto&& body) { batch.run(body); });

    const hd::BatchResult last = batch.last();
    std::printf("%s: host time of a kernel %.2f us eagerly, %.2f us in a batch; the last one was "
                "%s (%zu of "
                "%zu changed)\n",
                hd::current_device().name().c_str(), eager, batched, hd::to_string(last.outcome),
                last.changed, last.operations);
    return expected == got ? 0 : 1;
}
