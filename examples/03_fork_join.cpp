// fork_join: branches that may run concurrently, each on its own stream. Later work on the current
// stream is ordered after all branches. Usage: example_03_fork_join [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;

struct Sequence {  // x[i] = start + i
    HEDDLE_FN void operator()(std::size_t i, float start, hd::View<float> x) const {
        x[i] = start + static_cast<float>(i);
    }
};
struct Square {
    HEDDLE_FN void operator()(std::size_t i, hd::View<float> x) const { x[i] *= x[i]; }
};
struct Sum {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<const float> y,
                              hd::View<float> z) const {
        z[i] = x[i] + y[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1000, parts = 16;
    const hd::ScopedDevice on{device_argument(argc, argv)};

    hd::Array<float> x = hd::empty<float>(n), y = hd::empty<float>(n), z = hd::empty<float>(n);
    hd::fork_join(
        [&] {
            hd::launch(Sequence{}, hd::dim(n), 0.0f, x);
            hd::launch(Square{}, hd::dim(n), x);  // follows the launch above on the same stream
        },
        [&] { hd::launch(Sequence{}, hd::dim(n), 5.0f, y); });
    hd::launch(Sum{}, hd::dim(n), x, y, z);  // follows both branches

    // One small kernel at a time would leave most of a GPU idle, so these are launched on
    // concurrent branches.
    std::vector<hd::Array<float>> pieces;
    for (std::size_t p = 0; p < parts; ++p) pieces.push_back(hd::empty<float>(n));
    hd::fork_join_n(parts, [&](std::size_t p) {
        hd::launch(Sequence{}, hd::dim(n), static_cast<float>(p), pieces[p]);
        hd::launch(Square{}, hd::dim(n), pieces[p]);
    });

    bool right = true;
    const std::vector<float> sums = hd::to_host(z);
    for (std::size_t i = 0; i < n; ++i) right &= sums[i] == static_cast<float>(i * i + i + 5);
    for (std::size_t p = 0; p < parts; ++p) {
        const std::vector<float> squares = hd::to_host(pieces[p]);
        for (std::size_t i = 0; i < n; ++i)
            right &= squares[i] == static_cast<float>((p + i) * (p + i));
    }
    std::printf("%s: %s\n", hd::current_device().name().c_str(), right ? "right" : "wrong");
    return right ? 0 : 1;
}
