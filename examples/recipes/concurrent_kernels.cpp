// concurrentKernels: kernels that are too small for the whole device run at the same time, each on
// its own stream. One more kernel runs after all of them.
// Usage: example_recipe_concurrent_kernels [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>

#include "../device_argument.hpp"

namespace hd = heddle;

struct Iterate {  // takes long, although it has a single index
    HEDDLE_FN void operator()(std::size_t, unsigned start, int rounds,
                              hd::View<unsigned> result) const {
        unsigned value = start;
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        result[0] = value;
    }
};
struct Sum {
    HEDDLE_FN void operator()(std::size_t, hd::View<const unsigned> x,
                              hd::View<unsigned> sum) const {
        unsigned value = 0;
        for (std::size_t i = 0; i < x.size(); ++i) value += x[i];
        sum[0] = value;
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t kernels = 8;
    constexpr int rounds = 500'000;
    const hd::Device device = device_argument(argc, argv);
    const hd::ScopedDevice on{device};
    hd::preload(device, Iterate{},
                Sum{});  // else a first launch loads code, and waits for the device
    hd::Array<unsigned> results = hd::zeros<unsigned>(kernels), sum = hd::zeros<unsigned>(1);

    const auto start_kernel = [&](std::size_t k) {  // uses the current stream
        hd::launch(Iterate{}, hd::dim(1), static_cast<unsigned>(k), rounds,
                   results.view().subview(k, 1));
    };
    const auto timed = [&](auto&& enqueue) {
        const hd::Event start = hd::record_event({.timing = true});
        enqueue();
        return hd::elapsed(start, hd::record_event({.timing = true})).count();
    };
    const double one = timed([&] {  // on one stream, the kernels run one after the other
        for (std::size_t k = 0; k < kernels; ++k) start_kernel(k);
    });
    hd::fill(results, 0u);
    const double many = timed([&] {  // fork_join_n() makes one branch for each kernel
        hd::fork_join_n(kernels, start_kernel);
        hd::launch(Sum{}, hd::dim(1), results, sum);  // follows all of these kernels
    });
    std::printf("%s: %zu kernels on one stream %.2f ms, on a stream each %.2f ms (%d can run at "
                "the same time)\n",
                device.name().c_str(), kernels, one, many,
                hd::StreamPool(device).concurrent_queues());

    unsigned expected = 0;
    for (unsigned k = 0; k < kernels; ++k) {
        unsigned value = k;
        for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
        expected += value;
    }
    return hd::to_host(sum)[0] == expected ? 0 : 1;
}
