// StreamPriorities: work on an urgent stream overtakes bulk work that was enqueued earlier.
// Usage: example_recipe_stream_priorities [DEVICE]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "../device_argument.hpp"

namespace hd = heddle;

struct Iterate {
    HEDDLE_FN void operator()(std::size_t i, int rounds, hd::View<unsigned> x) const {
        unsigned value = x[i];
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        x[i] = value;
    }
};

bool was_iterated(const hd::Array<unsigned>& x, int rounds) {
    unsigned expected = 0;
    for (int r = 0; r < rounds; ++r) expected = expected * 1664525u + 1013904223u;
    const std::vector<unsigned> values = hd::to_host(x);
    return std::all_of(values.begin(), values.end(), [=](unsigned v) { return v == expected; });
}

int main(int argc, char** argv) {
    constexpr int pieces = 20, rounds = 100;
    const hd::Device device = device_argument(argc, argv);
    const hd::PriorityRange range = device.priorities();
    const hd::Stream bulk{device, {.priority = range.least, .name = "bulk"}};
    const hd::Stream urgent{device, {.priority = range.greatest, .name = "urgent"}};
    hd::preload(device, Iterate{});  // else a first launch loads code, and waits for bulk work

    hd::Array<unsigned> large = hd::zeros<unsigned>(bulk, 1 << 16),
                        small = hd::zeros<unsigned>(urgent, 256);
    std::atomic<int> done{0}, done_before_urgent{-1};
    for (int i = 0; i < pieces; ++i) {
        hd::launch(bulk, Iterate{}, hd::dim(large.size()), rounds, large);
        hd::launch_host(bulk, [&done] { ++done; });
    }
    hd::launch(urgent, Iterate{}, hd::dim(small.size()), rounds, small);  // this is enqueued last
    hd::launch_host(urgent, [&] { done_before_urgent = done.load(); });
    hd::synchronize_device(device);

    std::printf("%s: priorities %d to %d; the urgent kernel was done after %d of %d pieces of bulk "
                "work\n",
                device.name().c_str(), range.least, range.greatest, done_before_urgent.load(),
                pieces);
    const bool all_ran = done == pieces && done_before_urgent >= 0;
    const bool is_right = was_iterated(large, pieces * rounds) && was_iterated(small, rounds);
    return all_ran && is_right ? 0 : 1;
}
