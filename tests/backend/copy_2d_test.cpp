// Copies of rectangles between arrays.
#include "support.hpp"

#include <limits>
#include <numeric>

using namespace heddle_test;

namespace {

std::vector<int> counting(std::size_t n) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), 0);
    return v;
}

/// Returns `destination` with a rectangle of `rows` x `columns` copied into it, from index `from`
/// of `source` to index `to`.
std::vector<int> pasted(std::vector<int> destination, std::size_t to, std::size_t to_pitch,
                        const std::vector<int>& source, std::size_t from, std::size_t from_pitch,
                        std::size_t rows, std::size_t columns) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            destination[to + r * to_pitch + c] = source[from + r * from_pitch + c];
    return destination;
}

}  // namespace

TEST_CASE("a rectangle goes into the middle of another image") {
    const Stream s(test_device());
    const std::vector<int> source = counting(20 * 30);
    Array<int> x = from_host(s, source), y = full<int>(s, 10 * 50, -1);
    copy_2d(s, View2D(y.view().subview(2 * 50 + 3, 7 * 50 + 5), 8, 5, 50),
            View2D(x.view().subview(4 * 30 + 6, 7 * 30 + 5), 8, 5, 30));
    CHECK(to_host(s, y) == pasted(std::vector<int>(500, -1), 103, 50, source, 126, 30, 8, 5));
}

TEST_CASE("a rectangle goes between host and device memory both ways") {
    const Stream s(test_device());
    const std::vector<int> source = counting(100 * 64);
    Array<int> staging = pinned<int>(100 * 64);
    std::copy(source.begin(), source.end(), staging.data());
    Array<int> from_pinned = zeros<int>(s, 100 * 10), from_pageable = zeros<int>(s, 100 * 10);
    copy_2d(s, View2D(from_pinned.view(), 100, 10),
            View2D(std::as_const(staging).view().first(99 * 64 + 10), 100, 10, 64));
    copy_2d(s, View2D(from_pageable.view(), 100, 10),
            View2D(View(source).first(99 * 64 + 10), 100, 10, 64));
    const std::vector<int> expected =
        pasted(std::vector<int>(1000, 0), 0, 10, source, 0, 64, 100, 10);
    CHECK(to_host(s, from_pinned) == expected);
    CHECK(to_host(s, from_pageable) == expected);

    std::vector<int> back(100 * 20, -1);
    copy_2d(s, View2D(View(back), 100, 10, 20), View2D(from_pinned.view(), 100, 10));
    s.synchronize();
    CHECK(back == pasted(std::vector<int>(2000, -1), 0, 20, expected, 0, 10, 100, 10));
}

TEST_CASE("many rows and wide rows arrive") {
    const Stream s(test_device());
    const std::size_t rows = GENERATE(1u, 3u, 5000u), columns = GENERATE(1u, 17u, 400u);
    CAPTURE(rows, columns);
    const std::size_t pitch = columns + 3;
    const std::vector<int> source = counting(rows * pitch);
    Array<int> x = from_host(s, source), y = zeros<int>(s, rows * columns);
    copy_2d(s, View2D(y.view(), rows, columns), View2D(x.view(), rows, columns, pitch));
    CHECK(to_host(s, y) ==
          pasted(std::vector<int>(rows * columns), 0, columns, source, 0, pitch, rows, columns));
}

TEST_CASE("rectangles side by side in one image do not overlap") {
    const Stream s(test_device());
    const std::vector<int> source = counting(8 * 10);
    Array<int> x = from_host(s, source);
    const View<int> v = x;
    copy_2d(s, View2D(v.subview(5, 75), 8, 5, 10), View2D(v.first(75), 8, 5, 10));
    CHECK(to_host(s, x) == pasted(source, 5, 10, source, 0, 10, 8, 5));
}

TEST_CASE("rectangles that share an element are refused") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 8 * 10);
    const View<int> v = x;
    CHECK_THROWS_AS(copy_2d(s, View2D(v.subview(4, 75), 8, 5, 10), View2D(v.first(75), 8, 5, 10)),
                    UsageError);
    CHECK_THROWS_AS(copy_2d(s, View2D(v, 8, 10), View2D(v, 8, 10)), UsageError);
    CHECK_THROWS_AS(copy_2d(s, View2D(v.last(40), 4, 10), View2D(v.subview(10, 40), 4, 10)),
                    UsageError);
    s.synchronize();
}

TEST_CASE("rectangles of different shapes are refused") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100), y = zeros<int>(s, 100);
    CHECK_THROWS_AS(copy_2d(s, View2D(x.view(), 10, 10), View2D(y.view(), 10, 9, 10)), UsageError);
    CHECK_THROWS_AS(copy_2d(s, View2D(x.view(), 10, 10), View2D(y.view(), 9, 10)), UsageError);
    CHECK_THROWS_AS(copy_2d(s, View2D(x.view(), 20, 5), View2D(y.view(), 10, 10)), UsageError);
    s.synchronize();
}

TEST_CASE("a rectangle that is not in its memory cannot be made") {
    std::vector<int> memory(100);
    const View<int> v(memory);
    const std::size_t huge = std::numeric_limits<std::size_t>::max();
    CHECK_NOTHROW(View2D(v, 10, 10));
    CHECK_NOTHROW(View2D(v, 10, 1, 11));  // its last element has index 99
    CHECK_NOTHROW(View2D(v, 0, 200));
    CHECK_THROWS_AS(View2D(v, 11, 10), UsageError);
    CHECK_THROWS_AS(View2D(v, 10, 2, 11), UsageError);
    CHECK_THROWS_AS(View2D(v, 1, 101), UsageError);
    CHECK_THROWS_AS(View2D(v, 2, 10, 9), UsageError);
    CHECK_THROWS_AS(View2D(v, huge, 1, huge), UsageError);
    CHECK_THROWS_AS(View2D(v, huge / 2 + 2, 1, 2), UsageError);
    CHECK_THROWS_AS(View2D(v, 1, huge, huge), UsageError);
}

TEST_CASE("a rectangle without columns can be made and copied") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, 10, 1), y = full<int>(s, 10, 2);
    copy_2d(s, View2D(x.view(), 5, 0, 2), View2D(y.view(), 5, 0, 2));
    copy_2d(s, View2D(x.view(), 0, 5), View2D(y.view(), 0, 5));
    copy_2d(s, View2D(x.view(), 5, 0), View2D(y.view(), 5, 0));
    CHECK(to_host(s, x) == std::vector<int>(10, 1));
}

TEST_CASE("a rectangle is copied in stream order, without a stream as copies are") {
    DrainedGate gate;
    const Stream s(test_device());
    const ScopedStream in{s};
    Array<int> x = zeros<int>(100), y = zeros<int>(100);
    gate.hold(s);
    fill(s, x, 4);
    copy_2d(View2D(y.view(), 10, 5, 10), View2D(x.view(), 10, 5, 10));
    CHECK_FALSE(s.is_complete());
    gate.open();
    CHECK(to_host(s, y)[94] == 4);
    CHECK(to_host(s, y)[95] == 0);
}

TEST_CASE("a pitch that is less than a row is refused as that") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100);
    const Error error = thrown_by([&] { (void)View2D<int>(x.view(), 10, 10, 5); });
    CHECK_THAT(error.what(), contains("a pitch of 5 elements is less than the 10 columns"));
}
