// StreamPriorities: work on an urgent stream overtakes bulk work that was enqueued earlier.
// Usage: example_recipe_stream_priorities [DEVICE]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "../device_argument.hpp"

using namespace heddle;

struct Iterate {
    HEDDLE_FN void operator()(std::size_t i, int rounds, View<unsigned> x) const {
        unsigned value = x[i];
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        x[i] = value;
    }
};

bool was_iterated(const Array<unsigned>& x, int rounds) {
    unsigned expected = 0;
    for (int r = 0; r < rounds; ++r) expected = expected * 1664525u + 1013904223u;
    const std::vector<unsigned> values = to_host(x);
    return std::all_of(values.begin(), values.end(), [=](unsigned v) { return v == expected; });
}

int main(int argc, char** argv) {
    constexpr int pieces = 20, rounds = 100;
    const Device device = device_argument(argc, argv);
    const PriorityRange range = device.priorities();
    const Stream bulk{device, {.priority = range.least, .name = "bulk"}};
    const Stream urgent{device, {.priority = range.greatest, .name = "urgent"}};
    preload(device, Iterate{});  // else a first launch loads code, and waits for bulk work

    Array<unsigned> large = zeros<unsigned>(bulk, 1 << 16), small = zeros<unsigned>(urgent, 256);
    std::atomic<int> done{0}, done_before_urgent{-1};
    for (int i = 0; i < pieces; ++i) {
        launch(bulk, Iterate{}, dim(large.size()), rounds, large);
        launch_host(bulk, [&done] { ++done; });
    }
    launch(urgent, Iterate{}, dim(small.size()), rounds, small);  // this is enqueued last
    launch_host(urgent, [&] { done_before_urgent = done.load(); });
    synchronize_device(device);

    std::printf("%s: priorities %d to %d; the urgent kernel was done after %d of %d pieces of bulk "
                "work\n",
                device.name().c_str(), range.least, range.greatest, done_before_urgent.load(),
                pieces);
    const bool all_ran = done == pieces && done_before_urgent >= 0;
    const bool is_right = was_iterated(large, pieces * rounds) && was_iterated(small, rounds);
    return all_ran && is_right ? 0 : 1;
}
