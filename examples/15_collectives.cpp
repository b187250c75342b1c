// Several devices at once: each processes its part of the data, and a collective returns the sum to
// all of them. The whole step is captured once, and then launched as one graph. Set
// HEDDLE_CPU_DEVICES=4 to have several CPU devices. Usage: example_15_collectives [DEVICE]. All
// devices of the same kind take part.
#include <heddle/heddle.hpp>

#include <cmath>
#include <cstdio>

#include "device_argument.hpp"

namespace hd = heddle;

struct Slopes {  // partial sums for the slope of the squared error of y = a * x
    HEDDLE_FN void operator()(std::size_t i, std::size_t places, hd::View<const double> a,
                              hd::View<const double> x, hd::View<const double> y,
                              hd::View<double> sums) const {
        double sum = 0;
        for (std::size_t k = i; k < x.size(); k += places) sum += (a[0] * x[k] - y[k]) * x[k];
        sums[i] = sum / static_cast<double>(x.size());
    }
};
struct Descend {
    HEDDLE_FN void operator()(std::size_t, hd::View<const double> sums, hd::View<double> a) const {
        double slope = 0;
        for (const double s : sums) slope += s;
        a[0] -= 0.5 * slope;
    }
};

int main(int argc, char** argv) {
    constexpr std::size_t points = 10'000, places = 64;
    const hd::Device first = device_argument(argc, argv, "[DEVICE]; all of its kind take part");
    std::vector<hd::Device> all;
    for (const hd::Device d : hd::devices())
        if (d.kind() == first.kind()) all.push_back(d);
    hd::DeviceGroup group(
        all,
        {.transport = hd::Transport::copies});  // graphs always use copies, so NCCL need not start

    std::vector<hd::Stream> streams;
    std::vector<hd::Array<double>> a, x, y, sums;
    for (const hd::Device d : all) {
        const hd::StreamRef s = streams.emplace_back(d);
        std::vector<double> here(points), there(points);
        for (std::size_t i = 0; i < points; ++i) {
            here[i] = static_cast<double>((i * 7 + streams.size()) % 100) / 100;
            there[i] = 3 * here[i];
        }
        x.push_back(hd::from_host(s, here));
        y.push_back(hd::from_host(s, there));
        a.push_back(hd::zeros<double>(s, 1));
        sums.push_back(hd::zeros<double>(s, places));
    }
    for (const hd::StreamRef s : streams) streams[0].wait_stream(s);

    hd::Graph step = hd::capture(streams[0], [&] {
        for (std::size_t i = 0; i < all.size(); ++i) {
            streams[i].wait_stream(streams[0]);  // with this wait, the stream joins the capture
            hd::launch(streams[i], Slopes{}, hd::dim(places), places, a[i], x[i], y[i], sums[i]);
        }
        group.all_reduce(streams, hd::ReduceOp::average,
                         sums);  // in place; the result has the same bits on all devices
        for (std::size_t i = 0; i < all.size(); ++i) {
            hd::launch(streams[i], Descend{}, hd::dim(1), sums[i], a[i]);
            streams[0].wait_stream(streams[i]);
        }
    });
    for (int i = 0; i < 200; ++i) step.launch(streams[0]);

    const double found = hd::to_host(a[0])[0];
    bool equal = true;
    for (const hd::Array<double>& other : a) equal = equal && hd::to_host(other)[0] == found;
    std::printf("%d devices: a = %.6f, the same on all: %s\n", static_cast<int>(all.size()), found,
                equal ? "yes" : "no");
    return equal && std::abs(found - 3) < 1e-6 ? 0 : 1;
}
