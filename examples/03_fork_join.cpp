// fork_join: branches that may run concurrently, each on its own stream. Later work on the current
// stream is ordered after all branches. Usage: example_03_fork_join [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <vector>

#include "device_argument.hpp"

using namespace heddle;

struct Sequence {  // x[i] = start + i
    HEDDLE_FN void operator()(std::size_t i, float start, View<float> x) const {
        x[i] = start + static_cast<float>(i);
    }
};
struct Square {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] *= x[i]; }
};
struct Sum {
    HEDDLE_FN void operator()(std::size_t i, View<const float> x, View<const float> y,
                              View<float> z) const {
        z[i] = x[i] + y[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1000, parts = 16;
    const ScopedDevice on{device_argument(argc, argv)};

    Array<float> x = empty<float>(n), y = empty<float>(n), z = empty<float>(n);
    fork_join(
        [&] {
            launch(Sequence{}, dim(n), 0.0f, x);
            launch(Square{}, dim(n), x);  // follows the launch above on the same stream
        },
        [&] { launch(Sequence{}, dim(n), 5.0f, y); });
    launch(Sum{}, dim(n), x, y, z);  // follows both branches

    // One small kernel at a time would leave most of a GPU idle, so these are launched on
    // concurrent branches.
    std::vector<Array<float>> pieces;
    for (std::size_t p = 0; p < parts; ++p) pieces.push_back(empty<float>(n));
    fork_join_n(parts, [&](std::size_t p) {
        launch(Sequence{}, dim(n), static_cast<float>(p), pieces[p]);
        launch(Square{}, dim(n), pieces[p]);
    });

    bool right = true;
    const std::vector<float> sums = to_host(z);
    for (std::size_t i = 0; i < n; ++i) right &= sums[i] == static_cast<float>(i * i + i + 5);
    for (std::size_t p = 0; p < parts; ++p) {
        const std::vector<float> squares = to_host(pieces[p]);
        for (std::size_t i = 0; i < n; ++i)
            right &= squares[i] == static_cast<float>((p + i) * (p + i));
    }
    std::printf("%s: %s\n", current_device().name().c_str(), right ? "right" : "wrong");
    return right ? 0 : 1;
}
