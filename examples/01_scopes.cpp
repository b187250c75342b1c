// Scopes: write code as for one stream, and open a scope where work may overlap.
// Usage: example_01_scopes [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Scale {  // a portable kernel: its first parameter is the index
    HEDDLE_FN void operator()(std::size_t i, float factor, hd::View<float> x) const {
        x[i] *= factor;
    }
};
struct Add {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const float> x, hd::View<float> y) const {
        y[i] += x[i];
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t n = 1 << 20;
    const hd::ScopedDevice on{device_argument(argc, argv)};
    hd::Array<float> x = hd::full<float>(n, 1),
                     y = hd::full<float>(n, 2);  // enqueued on the current stream

    const hd::Stream side{{.name = "side"}};
    {
        const hd::ScopedStream in{
            side};  // side waits for the fills of x and y, and becomes the current stream
        hd::launch(Scale{}, hd::dim(n), 10.0f, x);  // runs on side
    }
    hd::launch(Scale{}, hd::dim(n), 3.0f,
               y);  // on the first stream again; may overlap the launch on side
    hd::current_stream().wait_stream(side);  // later work is ordered after both launches
    hd::launch(Add{}, hd::dim(n), x, y);

    const std::vector<float> sum = hd::to_host(y);  // the host waits for the copy
    std::printf("%s: %g\n", hd::current_device().name().c_str(), static_cast<double>(sum[n - 1]));
    for (const float value : sum)
        if (value != 16.0f) return 1;
    return 0;
}
