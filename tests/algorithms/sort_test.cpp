// Sorts: of all kinds of numbers and of classes, with and without values, always stable.
#include "algorithms/inputs.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

using namespace heddle_test;

namespace {

/// Checks sort() and sort_by_key() against std::stable_sort().
template <class K, class Less>
void check_sort(StreamRef s, const std::vector<K>& keys, const Less& less) {
    const std::size_t size = keys.size();
    Ints order(size);
    std::iota(order.begin(), order.end(), 0);
    Array<K> alone = from_host(s, keys), sorted = from_host(s, keys);
    Array<int> values = from_host(s, order);
    sort(s, alone, less);
    sort_by_key(s, sorted, values, less);
    const auto key = [&](int i) { return keys[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return less(key(a), key(b)); });
    std::vector<K> expected;
    for (const int i : order) expected.push_back(key(i));
    CHECK(to_host(s, alone) == expected);
    CHECK(to_host(s, sorted) == expected);
    CHECK(to_host(s, values) == order);
}

/// A key's digit is 0 in its first `calls` reads and 255 afterwards, as if other work changed all
/// keys after they were counted.
struct DigitThatChanges {
    using Bits = std::uint8_t;
    static inline std::size_t calls = 0;
    Bits operator()(Bits) const noexcept { return calls != 0 ? (--calls, Bits{0}) : Bits{255}; }
};

/// Checks numbers in both directions. Only bits in `mask` differ, so that some digits are equal.
template <class K> void check_numbers(StreamRef s, std::size_t size, int mask) {
    std::vector<K> keys;
    for (const int one : numbers(size)) keys.push_back(static_cast<K>(one & mask));
    check_sort(s, keys, std::less<>());
    check_sort(s, keys, std::greater<K>());
}

}  // namespace

TEST_CASE("numbers of all types are sorted in both directions") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes)
        for (const int mask : {-1, 0xff00, 0}) {
            INFO(size << " elements, mask " << mask);
            check_numbers<int>(s, size, mask);
            if (size > 20000 && mask != -1) continue;
            check_numbers<signed char>(s, size, mask);
            check_numbers<std::uint16_t>(s, size, mask);
            check_numbers<long>(s, size, mask);
            check_numbers<unsigned long>(s, size, mask);
            check_numbers<float>(s, size, mask);
            check_numbers<double>(s, size, mask);
        }
}

TEST_CASE("zeros of both signs are equal, and NaN is ordered by its sign") {
    const Stream s(cpu_device());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const std::size_t repeated : {1u, 100u, 3000u}) {
        std::vector<float> keys, expected;
        for (std::size_t i = 0; i < repeated; ++i)
            keys.insert(keys.end(), {0.0f, nan, -0.0f, infinity, -nan, -infinity});
        for (const float group : {-nan, -infinity})
            expected.insert(expected.end(), repeated, group);
        for (std::size_t i = 0; i < repeated; ++i) expected.insert(expected.end(), {0.0f, -0.0f});
        for (const float group : {infinity, nan}) expected.insert(expected.end(), repeated, group);
        Array<float> x = from_host(s, keys);
        sort(s, x);
        const std::vector<float> sorted = to_host(s, x);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < sorted.size(); ++i)
            wrong += std::bit_cast<unsigned>(sorted[i]) != std::bit_cast<unsigned>(expected[i]);
        CHECK(wrong == 0);
    }
}

TEST_CASE("classes are sorted by an order of the program") {
    const Stream s(cpu_device());
    for (const std::size_t size : sizes) {
        INFO(size << " elements");
        check_sort(s, cards(size), by_rank);
        check_sort(s, numbers(size), [](int a, int b) { return a % 1000 < b % 1000; });
    }
}

TEST_CASE("what is sorted already stays") {
    const Stream s(cpu_device());
    std::vector<Card> values(30000);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = {static_cast<std::int16_t>(i / 2), static_cast<int>(i)};
    Array<Card> x = from_host(s, values);
    sort(s, x, by_rank);
    CHECK(to_host(s, x) == values);
}

TEST_CASE("keys that change while they are sorted do not lead outside the memory") {
    using Bits = DigitThatChanges::Bits;
    using Radix = DigitThatChanges;
    constexpr std::size_t size = 1000;
    std::vector<Bits> keys(size), temporary(2 * size, 7);
    const std::vector<Bits> untouched(size, 7);
    const View<Bits> from(keys.data(), size), to(temporary.data(), size);
    const View<heddle::detail::NoValue> none;
    const auto behind = [&] {
        return std::vector<Bits>(temporary.begin() + size, temporary.end());
    };
    Radix::calls = size;
    heddle::detail::SortFew<Radix>()(0, from, to, none, none);
    CHECK(behind() == untouched);

    keys.assign(size, 0);
    std::vector<std::uint32_t> counts(256);
    counts[0] = size;
    std::vector<Bits> differ{255};
    Radix::calls = 0;
    heddle::detail::MoveByDigit<Radix>{{}, 0}(0, from, to, none, none, View(counts), View(differ));
    CHECK(behind() == untouched);
}
