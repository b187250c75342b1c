// Histograms: counts for bins of equal width.
#include "algorithms/inputs.hpp"

#include <limits>

using namespace heddle_test;

TEST_CASE("a histogram counts what is in range") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        const Ints values = numbers(size);
        std::vector<unsigned> expected(7);
        for (const int one : values)
            if (one >= -700'000 && one < 700'000)
                ++expected[static_cast<std::size_t>((one + 700'000) / 200'000)];
        Array<unsigned> counts(s, 7);
        histogram(s, from_host(s, values), counts, -700'000, 700'000);
        CHECK(to_host(s, counts) == expected);
        const std::vector<double> reals(values.begin(), values.end());
        Array<std::int64_t> longer(s, 7);
        histogram(s, from_host(s, reals), longer, -700'000.0, 700'000.0);
        CHECK(to_host(s, longer) == std::vector<std::int64_t>(expected.begin(), expected.end()));
    }
}

TEST_CASE("bounds may be the least and the greatest numbers") {
    const Stream s(cpu_device());
    using Limits = std::numeric_limits<std::int8_t>;
    const std::vector<std::int8_t> values{Limits::min(), -1, 0, 1, 126, Limits::max()};
    Array<int> counts(s, 5);
    histogram(s, from_host(s, values), counts, Limits::min(), Limits::max());
    CHECK(to_host(s, counts) == Ints{1, 0, 3, 0, 1});  // the upper bound is not in range
}

TEST_CASE("numbers that are NaN are in no bin") {
    const Stream s(cpu_device());
    const std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), 0.5f};
    Array<int> counts(s, 2);
    histogram(s, from_host(s, values), counts, 0.0f, 1.0f);
    CHECK(to_host(s, counts) == Ints{0, 1});
}

TEST_CASE("a histogram may have more bins than elements") {
    const Stream s(cpu_device());
    Array<int> counts(s, 100'000);
    histogram(s, from_host(s, Ints{5, 99'999, 5}), counts, 0, 100'000);
    Ints expected(100'000);
    expected[5] = 2;
    expected[99'999] = 1;
    CHECK(to_host(s, counts) == expected);
}
