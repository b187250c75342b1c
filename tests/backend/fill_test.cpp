// Fills: values of all sizes, parts of arrays, order, and rejected calls.
#include "support.hpp"

#include <cstdint>

using namespace heddle_test;

namespace {

struct Triple {
    std::uint32_t a, b, c;
    bool operator==(const Triple&) const = default;
};
struct Odd {
    std::uint8_t bytes[5];
    bool operator==(const Odd&) const = default;
};
struct Wide {
    std::uint64_t words[4];
    bool operator==(const Wide&) const = default;
};

/// Fills the middle of an array, at several offsets and lengths. Returns the number of errors.
template <class T> int wrongly_filled(const T& background, const T& value) {
    const Stream s(test_device());
    int wrong = 0;
    for (std::size_t first : {0u, 1u, 2u, 3u, 5u})
        for (std::size_t count : {0u, 1u, 2u, 7u, 64u, 1000u}) {
            Array<T> x = full<T>(s, 1200, background);
            fill(s, x.view().subview(first, count), value);
            std::vector<T> expected(1200, background);
            for (std::size_t i = first; i < first + count; ++i) expected[i] = value;
            wrong += to_host(s, x) != expected;
        }
    return wrong;
}

}  // namespace

TEST_CASE("a fill sets every element of its part and no other, for values of every size") {
    CHECK(wrongly_filled<std::uint8_t>(1, 0xab) == 0);
    CHECK(wrongly_filled<std::uint16_t>(1, 0xabcd) == 0);
    CHECK(wrongly_filled<std::uint32_t>(1, 0xabcdef01) == 0);
    CHECK(wrongly_filled<float>(1.0f, -2.5f) == 0);
    CHECK(wrongly_filled<double>(1.0, 1e300) == 0);
    CHECK(wrongly_filled<std::uint64_t>(1, 0x0123456789abcdef) == 0);
    CHECK(wrongly_filled<Triple>({1, 1, 1}, {2, 3, 4}) == 0);
    CHECK(wrongly_filled<Odd>({{1, 1, 1, 1, 1}}, {{1, 2, 3, 4, 5}}) == 0);
    CHECK(wrongly_filled<Wide>({{1, 1, 1, 1}}, {{1, 2, 3, 4}}) == 0);
}

TEST_CASE("a fill converts its value to the element's type") {
    const Stream s(test_device());
    Array<float> x = empty<float>(s, 3);
    fill(s, x, 2);
    CHECK(to_host(s, x) == std::vector<float>(3, 2.0f));
}

TEST_CASE("the value of a fill is read at the call") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<Wide> x = empty<Wide>(s, 10);
    Wide value{{1, 2, 3, 4}};
    gate.hold(s);
    fill(s, x, value);
    value = {};
    gate.open();
    CHECK(to_host(s, x)[9] == Wide{{1, 2, 3, 4}});
}

TEST_CASE("a large fill reaches the last element") {
    const Stream s(test_device());
    const std::size_t n = 5'000'001;
    Array<int> x = empty<int>(s, n);
    fill(s, x, 17);
    const std::vector<int> back = to_host(s, x);
    std::size_t wrong = 0;
    for (int v : back) wrong += v != 17;
    CHECK(wrong == 0);
}

TEST_CASE("fill_zero clears all bytes") {
    const Stream s(test_device());
    Array<Wide> x = full<Wide>(s, 33, Wide{{1, 2, 3, 4}});
    fill_zero(s, x.view().first(32));
    const std::vector<Wide> back = to_host(s, x);
    CHECK(back[0] == Wide{});
    CHECK(back[31] == Wide{});
    CHECK(back[32] == Wide{{1, 2, 3, 4}});
}

TEST_CASE("a fill waits its turn on its stream") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = ready_full<int>(s, 100, 1);
    gate.hold(s);
    fill(s, x, 2);
    const Stream other(test_device());
    CHECK(to_host_behind_gate(other, x)[0] == 1);
    gate.open();
    CHECK(to_host(s, x)[0] == 2);
}

TEST_CASE("without a stream a fill runs on the current stream of the memory's device") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = ready_full<int>(s, 100, 1);
    const ScopedStream in{s};
    const ScopedDevice elsewhere{cpu_device()};
    gate.hold(s);
    fill(x, 2);
    CHECK_FALSE(s.is_complete());
    const Stream other(test_device());
    CHECK(to_host_behind_gate(other, x)[0] == 1);
    gate.open();
    CHECK(to_host(s, x)[0] == 2);
    fill_zero(x);
    CHECK(to_host(s, x)[0] == 0);
}

TEST_CASE("host memory is filled too") {
    const Stream s(test_device());
    Array<int> locked = pinned<int>(100), plain = pageable<int>(100);
    std::vector<int> vector(100);
    fill(s, locked, 1);
    fill(s, plain, 2);
    fill(s, vector, 3);
    s.synchronize();
    CHECK(locked[99] == 1);
    CHECK(plain[99] == 2);
    CHECK(vector[99] == 3);
    const Stream cpu(cpu_device());
    const ScopedStream in{cpu};
    fill(plain, 4);
    cpu.synchronize();
    CHECK(plain[99] == 4);
}

TEST_CASE("a fill of no memory is refused, a fill of nothing does nothing") {
    const Stream s(test_device());
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { fill(s, View<int>(nullptr, 10), 1); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    fill(s, View<int>(), 1);
    s.synchronize();
    CHECK_FALSE(s.is_poisoned());
}

namespace {
/// Returns 6 rows of 10 elements. A rectangle of 4 x 3 was filled, from row 1 and column 2 on.
template <class T> std::vector<T> with_rectangle(const T& background, const T& value) {
    std::vector<T> x(60, background);
    for (std::size_t row = 1; row < 5; ++row)
        for (std::size_t column = 2; column < 5; ++column) x[row * 10 + column] = value;
    return x;
}
template <class T> bool fills_rectangle(const T& background, const T& value) {
    const Here here;
    const auto expected = with_rectangle(background, value);
    Array<T> x = full<T>(60, background), y = full<T>(60, background), z = full<T>(60, background);
    fill(here.stream, View2D<T>(x.view().subview(12, 33), 4, 3, 10), value);
    fill(View2D<T>(y.view().subview(12, 33), 4, 3, 10), value);
    fill_node(View2D<T>(z.view().subview(12, 33), 4, 3, 10), value).build().launch();
    return to_host(x) == expected && to_host(y) == expected && to_host(z) == expected;
}
}  // namespace

TEST_CASE("a fill of a rectangle sets its elements and no others, for values of every size",
          "[graphs]") {
    CHECK(fills_rectangle<std::uint8_t>(1, 0xab));
    CHECK(fills_rectangle<std::uint16_t>(1, 0xabcd));
    CHECK(fills_rectangle<float>(1.0f, -2.5f));
    CHECK(fills_rectangle<double>(1.0, 1e300));
    CHECK(fills_rectangle<Triple>({1, 1, 1}, {2, 3, 4}));
    CHECK(fills_rectangle<Wide>({{1, 1, 1, 1}}, {{1, 2, 3, 4}}));
}

TEST_CASE("a fill of a rectangle converts its value, and takes pageable memory") {
    const Here here;
    std::vector<float> host(60, 1.0f);
    fill(View2D<float>(View(host).subview(12, 33), 4, 3, 10), 2);
    current_stream(cpu_device()).synchronize();
    CHECK(host == with_rectangle(1.0f, 2.0f));
    Array<float> x = full<float>(60, 1.0f);
    fill_zero(View2D<float>(x.view().subview(12, 33), 4, 3, 10));
    CHECK(to_host(x) == with_rectangle(1.0f, 0.0f));
    fill_zero(here.stream, View2D<float>(x, 6, 10));
    CHECK(to_host(x) == std::vector<float>(60, 0.0f));
}

TEST_CASE("a rectangle without rows or columns is filled with nothing") {
    const Here here;
    Array<int> x = full<int>(60, 1);
    fill(View2D<int>(x, 0, 3, 10), 2);
    fill(View2D<int>(x, 3, 0, 10), 2);
    CHECK(to_host(x) == Ints(60, 1));
}

TEST_CASE("a captured fill of a rectangle runs at each launch", "[graphs]") {
    const Here here;
    Array<int> x = full<int>(60, 1);
    Graph graph = capture([&] { fill(View2D<int>(x.view().subview(12, 33), 4, 3, 10), 7); });
    CHECK(to_host(x) == Ints(60, 1));
    graph.launch();
    CHECK(to_host(x) == with_rectangle(1, 7));
}
