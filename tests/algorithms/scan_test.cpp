// Scans: running totals, with the operator in order, in place, and from one type to another.
#include "algorithms/inputs.hpp"

#include <numeric>

using namespace heddle_test;

TEST_CASE("scans add up, in the type of the results") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        const Ints values = numbers(size);
        const Array<int> x = from_host(s, values);
        Array<long> sums(s, size);
        std::vector<long> expected(size);
        inclusive_scan(s, x, sums);
        std::inclusive_scan(values.begin(), values.end(), expected.begin(), std::plus<>(), 0L);
        CHECK(to_host(s, sums) == expected);
        exclusive_scan(s, x, sums);
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), 0L);
        CHECK(to_host(s, sums) == expected);
        exclusive_scan(s, x, sums, 7);
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), 7L);
        CHECK(to_host(s, sums) == expected);
    }
}

TEST_CASE("a scan applies an operator in the order of the elements") {
    const Stream s(cpu_device());
    const auto first_nonzero = [](int a, int b) { return b != 0 ? b : a; };  // not commutative
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        Ints values = numbers(size);
        for (int& one : values)
            if (one % 3 != 0) one = 0;
        const Array<int> x = from_host(s, values);
        Array<int> last(s, size);
        Ints expected(size);
        inclusive_scan(s, x, last, first_nonzero);
        std::inclusive_scan(values.begin(), values.end(), expected.begin(), first_nonzero);
        CHECK(to_host(s, last) == expected);
        exclusive_scan(s, x, last, 5, first_nonzero);
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), 5, first_nonzero);
        CHECK(to_host(s, last) == expected);
    }
}

TEST_CASE("a scan may write to its own input") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        Array<long> x = full<long>(s, size, 1);
        inclusive_scan(s, x, x);
        exclusive_scan(s, x, x);
        std::vector<long> expected(size, 1);
        std::inclusive_scan(expected.begin(), expected.end(), expected.begin());
        std::exclusive_scan(expected.begin(), expected.end(), expected.begin(), 0L);
        CHECK(to_host(s, x) == expected);
    }
}
