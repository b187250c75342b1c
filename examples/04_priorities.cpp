// Priorities: a stream of bulk work, and an urgent one that does not have to wait for it.
// Usage: example_04_priorities [DEVICE]
#include <heddle/heddle.hpp>

#include <chrono>
#include <cstdio>

using namespace heddle;

struct Iterate {  // some work for every element
    HEDDLE_FN void operator()(std::size_t i, int rounds, View<unsigned> x) const {
        unsigned value = x[i];
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        x[i] = value;
    }
};

unsigned iterated(int rounds) {
    unsigned value = 1;
    for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
    return value;
}

int main(int argc, char** argv) {
    const Device device = argc > 1 ? Device(argv[1]) : Device();
    constexpr std::size_t n = 1 << 18;
    constexpr int launches = 8;
    const int rounds = device.is_cuda() ? 20'000 : 100;  // enough to see on either
    const ScopedDevice on{device};

    // Smaller is more urgent. What is outside the device's range is clamped; priority() tells what the
    // stream got.
    const Stream bulk{{.priority = device.priorities().least, .name = "bulk"}};
    const Stream urgent{{.priority = -1, .name = "urgent"}};
    Array<unsigned> large = full<unsigned>(bulk, n, 1), small = full<unsigned>(urgent, 1000, 1);
    synchronize_device(device);

    const auto begin = std::chrono::steady_clock::now();
    const auto ms = [&] {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    };
    for (int i = 0; i < launches; ++i) launch(bulk, Iterate{}, dim(n), rounds, large);
    launch(urgent, Iterate{}, dim(small.size()), rounds, small);  // asked for last
    urgent.synchronize();
    const double urgent_ms = ms();
    const bool bulk_over = bulk.is_complete();
    bulk.synchronize();

    std::printf("%s: urgent (priority %d) done after %.2f ms, bulk (priority %d) after %.2f ms%s\n",
                device.name().c_str(), urgent.priority(), urgent_ms, bulk.priority(), ms(),
                bulk_over ? ", which was too little work to see" : "");
    return to_host(small).back() == iterated(rounds) && to_host(large).back() == iterated(rounds * launches)
               ? 0
               : 1;
}
