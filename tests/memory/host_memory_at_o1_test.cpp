// After heddle has written to a host variable, the compiler must read the variable again. This file
// is compiled at -O1. There, GCC 12 assumes that a pointer which only passes through small
// aggregates is private, and reuses old values (include/heddle/memory/copy.hpp). Other uses of a
// variable would hide this fault, so each value is copied to another variable before it is checked.
#include "kernels.hpp"
#include "support.hpp"

#include <array>
#include <span>
#include <vector>

using namespace heddle_test;

namespace {
constexpr std::size_t n = 4;
}

TEST_CASE("a variable is read again after a copy to a view of it") {
    const Stream s(cpu_device());
    const Array<float> x = full<float>(s, n, 1);
    float local[n] = {};
    copy(s, View<float>(local, n), x);
    const float copied = local[2];
    CHECK(copied == 1);

    float parts[n] = {};
    copy(s, View<float>(parts, n).first(2), x.view().last(2));
    copy(s, View<float>(parts, n).subview(2, 1), x.view().first(1));
    copy(s, View<float>(parts, n).last(1), x.view().first(1));
    const float first = parts[1], middle = parts[2], last = parts[3];
    CHECK(first == 1);
    CHECK(middle == 1);
    CHECK(last == 1);

    float one = 0;
    copy(s, View<float>(&one, 1), x.view().first(1));
    const float single = one;
    CHECK(single == 1);
}

TEST_CASE("a variable is read again after a copy to a view of it without a stream") {
    const Stream s(cpu_device());
    const ScopedStream in(s);
    const Array<float> x = full<float>(n, 1);
    float local[n] = {};
    copy(View<float>(local, n), x);
    const float copied = local[2];
    CHECK(copied == 1);
}

TEST_CASE("a variable is read again after a copy to it as a range") {
    const Stream s(cpu_device());
    const Array<float> x = full<float>(s, n, 1);
    std::array<float, n> array{};
    copy(s, array, x);
    const float of_array = array[2];
    CHECK(of_array == 1);

    float plain[n] = {};
    copy(s, plain, x);
    const float of_plain = plain[2];
    CHECK(of_plain == 1);

    float local[n] = {};
    copy(s, std::span<float>(local, n), x);
    const float of_span = local[2];
    CHECK(of_span == 1);
}

TEST_CASE("a variable is read again after a fill") {
    const Stream s(cpu_device());
    const ScopedStream in(s);
    float local[n] = {};
    fill(s, View<float>(local, n), 1);
    s.synchronize();
    const float filled = local[2];
    CHECK(filled == 1);

    float other[n] = {};
    fill(View<float>(other, n), 1);
    s.synchronize();
    const float without_stream = other[2];
    CHECK(without_stream == 1);

    float ones[n] = {1, 1, 1, 1};
    fill_zero(s, View<float>(ones, n));
    s.synchronize();
    const float zero = ones[2];
    CHECK(zero == 0);
}

TEST_CASE("a variable is read again after a fill of a rectangle in it, and as a range") {
    const Stream s(cpu_device());
    const ScopedStream in(s);
    float local[n] = {};
    fill(s, View2D<float>(View<float>(local, n), 2, 1, 2), 1);
    s.synchronize();
    const float first = local[0], between = local[1], second = local[2];
    CHECK(first == 1);
    CHECK(between == 0);
    CHECK(second == 1);

    float other[n] = {};
    for (float& v : View<float>(other, n)) v = 3;
    View2D<float>(View<float>(other, n), 2, 2)(1, 0) = 4;
    const float looped = other[1], named = other[2];
    CHECK(looped == 3);
    CHECK(named == 4);

    float spanned[n] = {};
    const std::span<float> span = View<float>(spanned, n);
    span[2] = 5;
    const float through_span = spanned[2];
    CHECK(through_span == 5);
}

TEST_CASE("a variable is read again after a two-dimensional copy") {
    const Stream s(cpu_device());
    const Array<float> x = full<float>(s, n, 1);
    float local[n] = {};
    copy_2d(s, View2D<float>(View<float>(local, n), 2, 2), View2D<const float>(x, 2, 2));
    const float copied = local[2];
    CHECK(copied == 1);
}

TEST_CASE("a variable is read again after a kernel that writes it") {
    const Stream s(cpu_device());
    int local[n] = {};
    launch(s, Set{}, dim(n), View<int>(local, n), 1);
    s.synchronize();
    const int launched = local[2];
    CHECK(launched == 1);

    int part[n] = {};
    launch(s, Set{}, dim(n), View<int>(part, n).first(n), 1);
    s.synchronize();
    const int of_part = part[2];
    CHECK(of_part == 1);

    int again[n] = {};
    auto prepared = prepare(cpu_device(), Set{}, dim(n), View<int>(again, n), 1);
    prepared.launch(s);
    s.synchronize();
    const int of_prepared = again[2];
    CHECK(of_prepared == 1);
}

TEST_CASE("a variable is read again after a graph and a host function that write it") {
    const Stream s(cpu_device());
    int local[n] = {};
    Graph graph =
        capture(s, [&s, view = View<int>(local, n)] { launch(s, Set{}, dim(n), view, 1); });
    graph.launch(s);
    s.synchronize();
    const int of_graph = local[2];
    CHECK(of_graph == 1);

    int other[n] = {};
    launch_host(s, [view = View<int>(other, n)] { view[2] = 1; });
    s.synchronize();
    const int of_function = other[2];
    CHECK(of_function == 1);
}

TEST_CASE("what a variable holds is stored before a copy from it") {
    const Stream s(cpu_device());
    Array<float> x = zeros<float>(s, n), y = zeros<float>(s, n);
    float local[n] = {5, 5, 5, 5};
    copy(s, x, View<float>(local, n));
    CHECK(to_host(s, x) == std::vector<float>(n, 5));

    float part[n] = {5, 5, 5, 5};
    copy(s, y, View<float>(part, n).first(n));
    CHECK(to_host(s, y) == std::vector<float>(n, 5));
}
