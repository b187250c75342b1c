// Reductions: sums, other operators, counts, and the places of extremes.
#include "algorithms/inputs.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <functional>
#include <numeric>

using namespace heddle_test;

TEST_CASE("reduce adds the elements, in the type of the result") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        const Ints values = numbers(size);
        const Array<int> x = from_host(s, values);
        Array<long> sum(s, 1);
        reduce(s, x, sum);
        const long expected = std::accumulate(values.begin(), values.end(), 0L);
        CHECK(value_of(s, sum) == expected);
        reduce(s, x.view(), sum.view(), 100);
        CHECK(value_of(s, sum) == expected + 100);
    }
}

TEST_CASE("reduce takes an operator of the program") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        const Ints values = numbers(size);
        const Array<int> x = from_host(s, values);
        Array<int> least(s, 1);
        reduce(s, x, least, INT_MAX, [](int a, int b) { return a < b ? a : b; });
        int expected = INT_MAX;
        for (const int one : values) expected = std::min(expected, one);
        CHECK(value_of(s, least) == expected);
    }
}

TEST_CASE("reduce and its transformation work with classes of the program") {
    const Stream s(cpu_device());
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{10000}}) {
        const Ints values = numbers(size);
        const Array<int> x = from_host(s, values);
        Array<Point> sum(s, 1);
        transform_reduce(s, x, sum, Point{1, 2}, std::plus<>(),
                         [](int one) { return Point{one, 1}; });
        CHECK(value_of(s, sum) == Point{std::accumulate(values.begin(), values.end(), 1L),
                                        2 + static_cast<long>(size)});
        std::vector<Point> points(size, {1, 2});
        reduce(s, from_host(s, points), sum);
        CHECK(value_of(s, sum) == Point{static_cast<long>(size), 2 * static_cast<long>(size)});
    }
}

TEST_CASE("transform_reduce of two inputs is a dot product, unless functions are passed") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        const Ints values = numbers(size);
        std::vector<short> factors;
        for (const int one : values) factors.push_back(static_cast<short>(one % 100));
        const Array<int> x = from_host(s, values);
        const Array<short> y = from_host(s, factors);
        Array<long> result(s, 1);
        transform_reduce(s, x, y, result, 5);
        CHECK(value_of(s, result) ==
              std::inner_product(values.begin(), values.end(), factors.begin(), 5L));
        transform_reduce(s, x, y, result, 0, std::plus<>(),
                         [](int a, short b) { return a % 100 == b ? 1 : 0; });
        CHECK(value_of(s, result) == static_cast<long>(size));
        const ScopedStream in(s);
        transform_reduce(y, x, result, 0);
        CHECK(value_of(s, result) ==
              std::inner_product(values.begin(), values.end(), factors.begin(), 0L));
        if (size > 0)
            CHECK_THROWS_WITH(transform_reduce(s, x.first(size - 1), y, result, 0),
                              contains("in transform_reduce") && contains("pass equal sizes"));
    }
}

TEST_CASE("count_if counts") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        const Ints values = numbers(size);
        const auto is_odd = [](int one) { return one % 2 != 0; };
        Array<unsigned> count(s, 1);
        count_if(s, from_host(s, values), count, is_odd);
        CHECK(value_of(s, count) == std::count_if(values.begin(), values.end(), is_odd));
    }
}

TEST_CASE("min_element and max_element find the first of the extremes") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        std::vector<Card> values = cards(size);
        const Array<Card> x = from_host(s, values);
        Array<std::size_t> least(s, 1), most(s, 1);
        min_element(s, x, least, by_rank);
        max_element(s, x, most, by_rank);
        const auto place = [&](auto found) {
            return static_cast<std::size_t>(found - values.begin());
        };
        CHECK(value_of(s, least) == place(std::min_element(values.begin(), values.end(), by_rank)));
        CHECK(value_of(s, most) == place(std::max_element(values.begin(), values.end(), by_rank)));
    }
}

TEST_CASE("floating-point sums have the same bits with any number of workers") {
    const Stream s(cpu_device());
    std::vector<float> values(1'000'003);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 1.0f / static_cast<float>(i % 977 + 1);
    const Array<float> x = from_host(s, values);
    Array<float> sum(s, 1);
    reduce(s, x, sum);
    CHECK(std::bit_cast<std::uint32_t>(value_of(s, sum)) == 0x45eec59a);
    Array<float> sums = empty<float>(s, values.size());
    inclusive_scan(s, x, sums);
    CHECK(std::bit_cast<std::uint32_t>(to_host(s, sums).back()) == 0x45eec59b);
}
