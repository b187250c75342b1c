// Inputs for tests of algorithms on CPU devices.
#pragma once

#include "support.hpp"

#include <heddle/algorithms.hpp>
#include <heddle/by_data.hpp>

#include <cstdint>

namespace heddle_test {

/// Sizes at which algorithms change their division into chunks.
inline constexpr std::size_t sizes[] = {0,    1,    2,    15,    16,    17,    128,   129,   4095,
                                        4096, 4097, 9000, 20000, 32769, 65536, 65537, 300001};

/// Returns different numbers, in no order.
inline Ints numbers(std::size_t size) {
    Ints made(size);
    std::uint32_t state = 12345;
    for (int& one : made) {
        state = state * 1664525 + 1013904223;
        one = static_cast<int>(state >> 8) - (1 << 23);
    }
    return made;
}
/// Returns the single element of an array, when the stream has computed it.
template <class T> T value_of(StreamRef stream, const Array<T>& one) {
    return to_host(stream, one).at(0);
}

/// A key with a value that no comparison looks at.
struct Card {
    std::int16_t rank;
    int number;
    bool operator==(const Card&) const = default;
};
inline bool by_rank(const Card& a, const Card& b) { return a.rank < b.rank; }
/// Returns cards with equal ranks among them.
inline std::vector<Card> cards(std::size_t size) {
    std::vector<Card> made;
    for (const int one : numbers(size))
        made.push_back({static_cast<std::int16_t>(one % 50), static_cast<int>(made.size())});
    return made;
}

/// A point, as a type of elements with operators of its own.
struct Point {
    long x, y;
    bool operator==(const Point&) const = default;
    friend Point operator+(const Point& a, const Point& b) { return {a.x + b.x, a.y + b.y}; }
};

}  // namespace heddle_test
