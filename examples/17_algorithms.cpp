// Statistics of measurements, by algorithms: their mean and deviation, a histogram, the outliers in
// order, and running totals. All calls are enqueued without waiting; only the last lines wait for
// results. Usage: example_17_algorithms [DEVICE]
#include <heddle/algorithms.hpp>
#include <heddle/heddle.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;

namespace {

constexpr std::size_t size = 1'000'000, bins = 8;

/// Makes measurements near 10, some of which are wrong.
struct Measure {
    HEDDLE_FN void operator()(std::size_t i, hd::View<float> values,
                              hd::View<unsigned> places) const {
        const std::size_t noise = i * 2654435761u % 1000;
        values[i] = 9.5f + 0.001f * static_cast<float>(noise);
        if (i % 250'000 == 7) values[i] += static_cast<float>(i) / 100'000;
        places[i] = static_cast<unsigned>(i);
    }
};
struct Square {
    HEDDLE_FN double operator()(float value) const { return static_cast<double>(value) * value; }
};
struct IsOutlier {
    HEDDLE_FN bool operator()(float value) const { return value > 10.5f; }
};

}  // namespace

int main(int argc, char** argv) {
    const hd::Device device = device_argument(argc, argv);
    const hd::ScopedDevice on{device};
    hd::Array<float> values(size);
    hd::Array<unsigned> places(size), counts(bins);
    hd::launch(Measure{}, hd::dim(size), values, places);

    hd::Array<double> sum(1), squares(1), totals(size);
    hd::Array<std::size_t> outliers(1), highest(1);
    hd::reduce(values, sum);
    hd::transform_reduce(values, squares, 0.0, std::plus<>(), Square());
    hd::count_if(values, outliers, IsOutlier());
    hd::max_element(values, highest);
    hd::histogram(values, counts, 9.5f, 10.5f);
    hd::inclusive_scan(values, totals);
    hd::sort_by_key(values, places, std::greater<>());  // the largest first, with their places

    const double mean = hd::to_host(sum)[0] / size;
    const double deviation = std::sqrt(hd::to_host(squares)[0] / size - mean * mean);
    const std::size_t wrong = hd::to_host(outliers)[0];
    std::printf("%s: mean %.3f, deviation %.3f, %zu outliers:", device.name().c_str(), mean,
                deviation, wrong);
    const std::vector<float> largest = hd::to_host(values.first(wrong));
    const std::vector<unsigned> where = hd::to_host(places.first(wrong));
    for (std::size_t i = 0; i < wrong; ++i) std::printf(" %.2f at %u", largest[i], where[i]);
    std::printf("\n");

    const std::vector<unsigned> all = hd::to_host(counts);
    const std::size_t counted = std::accumulate(all.begin(), all.end(), std::size_t{0});
    const bool right = counted + wrong == size && where[0] == hd::to_host(highest)[0] &&
                       std::abs(hd::to_host(totals).back() - mean * size) < 1;
    std::printf("%s\n", right ? "all agree" : "the results differ");
    return right ? 0 : 1;
}
