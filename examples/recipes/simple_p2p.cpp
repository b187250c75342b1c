// simpleP2P: arrays are copied directly between two devices, and a kernel on one device reads
// memory of the other. On CPU devices, set HEDDLE_CPU_DEVICES=2.
// Usage: example_recipe_simple_p2p [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <optional>
#include <vector>

#include "../device_argument.hpp"

using namespace heddle;

struct Twice {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] *= 2; }
};
struct Add {
    HEDDLE_FN void operator()(std::size_t i, View<const float> x, View<float> y) const {
        y[i] += x[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 20;
    constexpr int turns = 10;
    const Device here = device_argument(argc, argv);
    std::optional<Device> found;
    for (const Device d : devices())
        if (d.kind() == here.kind() && d != here && !found) found = d;
    if (!found) {
        std::printf("%s: there is no second device of this kind\n", here.name().c_str());
        return 0;
    }
    const Device there = *found;
    const bool is_direct = here.can_access_pool(there) && there.can_access_pool(here);
    std::optional<ScopedPoolAccess> access;  // faster copies, and kernels that use both arrays
    if (is_direct) access.emplace(here, there);

    const Stream a{here}, b{there};
    Array<float> x = full<float>(a, n, 1), y = zeros<float>(b, n);
    a.wait_stream(b);
    const Event start = a.record_event({.timing = true});
    for (int i = 0; i < turns; ++i) {
        copy(a, y, x);
        copy(a, x, y);
    }
    const Event end = a.record_event({.timing = true});

    b.wait_stream(a);  // order between devices is declared like order on one device
    launch(b, Twice{}, dim(n), y);
    if (is_direct) {
        launch(b, Add{}, dim(n), x, y);  // reads x, which is on the other device
    } else {
        Array<float> near = empty<float>(b, n);
        copy(b, near, x);
        launch(b, Add{}, dim(n), near, y);
    }
    a.wait_stream(b);
    copy(a, x, y);
    const std::vector<float> result = to_host(a, x);

    std::printf("%s and %s, %s: %.1f GB/s\n", here.name().c_str(), there.name().c_str(),
                is_direct ? "direct" : "by way of the host",
                2 * turns * n * sizeof(float) / elapsed(start, end).count() * 1e-6);
    for (const float value : result)
        if (value != 3.0f) return 1;
    return 0;
}
