// A graph captured from streams: work that code enqueues by streams and scopes is launched as one
// graph. Usage: example_09_capture [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Blur {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<float> y) const {
        const std::size_t left = i == 0 ? i : i - 1, right = i + 1 == x.size() ? i : i + 1;
        y[i] = (x[left] + x[i] + x[right]) / 3.0f;
    }
};
struct Add {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<float> y) const {
        y[i] += x[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 16;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    const hd::Stream stream, side;
    const hd::ScopedStream in{stream};
    hd::Array<float> x = hd::full<float>(n, 1.0f), y = hd::empty<float>(n),
                     sum = hd::zeros<float>(n);

    hd::Graph step = hd::capture([&] {  // this work is captured and does not run yet
        hd::fill(y, 0.0f);
        {
            const hd::ScopedStream aside{side};  // waits for the captured stream, so `side` joins
            hd::launch(Add{}, hd::dim(n), x, sum);
        }
        hd::launch(Blur{}, hd::dim(n), x, y);  // may run during the addition
        stream.wait_stream(side);              // joins the side stream
        hd::launch(Add{}, hd::dim(n), y, sum);
    });
    for (int i = 0; i < 10; ++i) step.launch();

    const float total = hd::to_host(sum)[n / 2];
    std::printf("%s: %zu nodes, %zu edges; 10 launches give %g\n",
                hd::current_device().name().c_str(), step.size(), step.edge_count(), total);
    return total == 20 ? 0 : 1;
}
