// simpleP2P: arrays are copied directly between two devices, and a kernel on one device reads
// memory of the other. On CPU devices, set HEDDLE_CPU_DEVICES=2.
// Usage: example_recipe_simple_p2p [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <optional>
#include <vector>

#include "../device_argument.hpp"

namespace hd = heddle;

struct Twice {
    HEDDLE_FN void operator()(std::size_t i, hd::View<float> x) const { x[i] *= 2; }
};
struct Add {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<float> y) const {
        y[i] += x[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 20;
    constexpr int turns = 10;
    const hd::Device here = device_argument(argc, argv);
    std::optional<hd::Device> found;
    for (const hd::Device d : hd::devices())
        if (d.kind() == here.kind() && d != here && !found) found = d;
    if (!found) {
        std::printf("%s: there is no second device of this kind\n", here.name().c_str());
        return 0;
    }
    const hd::Device there = *found;
    const bool is_direct = here.can_access_pool(there) && there.can_access_pool(here);
    std::optional<hd::ScopedPoolAccess> access;  // faster copies, and kernels that use both arrays
    if (is_direct) access.emplace(here, there);

    const hd::Stream a{here}, b{there};
    hd::Array<float> x = hd::full<float>(a, n, 1), y = hd::zeros<float>(b, n);
    a.wait_stream(b);
    const hd::Event start = a.record_event({.timing = true});
    for (int i = 0; i < turns; ++i) {
        hd::copy(a, y, x);
        hd::copy(a, x, y);
    }
    const hd::Event end = a.record_event({.timing = true});

    b.wait_stream(a);  // order between devices is declared like order on one device
    hd::launch(b, Twice{}, hd::dim(n), y);
    if (is_direct) {
        hd::launch(b, Add{}, hd::dim(n), x, y);  // reads x, which is on the other device
    } else {
        hd::Array<float> near = hd::empty<float>(b, n);
        hd::copy(b, near, x);
        hd::launch(b, Add{}, hd::dim(n), near, y);
    }
    a.wait_stream(b);
    hd::copy(a, x, y);
    const std::vector<float> result = hd::to_host(a, x);

    std::printf("%s and %s, %s: %.1f GB/s\n", here.name().c_str(), there.name().c_str(),
                is_direct ? "direct" : "by way of the host",
                2 * turns * n * sizeof(float) / hd::elapsed(start, end).count() * 1e-6);
    for (const float value : result)
        if (value != 3.0f) return 1;
    return 0;
}
