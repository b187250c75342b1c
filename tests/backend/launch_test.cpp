// Portable kernels: indices, arguments, order, rejected launches, and failures.
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace heddle_test {

struct Mark2 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View<int> out, std::size_t nx) const {
        out[y * nx + x] += static_cast<int>(x * 1000 + y);
    }
};

struct Mark3 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, View<int> out,
                              std::size_t nx, std::size_t ny) const {
        out[(z * ny + y) * nx + x] += static_cast<int>(x + 10 * y + 100 * z + 1);
    }
};

struct Count2 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View<std::uint8_t> out,
                              std::size_t nx) const {
        ++out[y * nx + x];
    }
};
struct Count3 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, View<std::uint8_t> out,
                              std::size_t nx, std::size_t ny) const {
        ++out[(z * ny + y) * nx + x];
    }
};

struct Scale {
    float factor;  // members are copied with the kernel object
    HEDDLE_FN void operator()(std::size_t i, View<float> y) const { y[i] *= factor; }
};

struct Total {
    HEDDLE_FN void operator()(std::size_t, View<const int> x, View<int> total) const {
        for (const int each : x) total[0] += each;
    }
};

struct Settings {
    int a;
    double b;
    char c[3];
};
struct alignas(64) Aligned {
    int value;
};
struct SumOfMany {
    HEDDLE_FN void operator()(std::size_t i, View<int> to, int a, int b, int c, int d, int e, int f,
                              int g, int h, int j, int k, int l, int m, int n, int o, int p, int q,
                              Aligned last) const {
        to[i] = a + b + c + d + e + f + g + h + j + k + l + m + n + o + p + q + last.value;
    }
};
struct ManyArguments {
    HEDDLE_FN void operator()(std::size_t i, bool flag, char c, short s, int n, std::int64_t l,
                              float f, double d, Settings set, View<const int> in,
                              View<double> out) const {
        out[i] = (flag ? 1 : 0) + c + s + n + static_cast<double>(l) + static_cast<double>(f) + d +
                 set.a + set.b + set.c[2] + in[i];
    }
};

/// to(row, column) += 10 * rows + row
struct AddRow {
    HEDDLE_FN void operator()(std::size_t column, std::size_t row, View2D<int> to) const {
        to(row, column) += static_cast<int>(10 * to.rows() + row);
    }
};
struct ThrowAt {
    HEDDLE_FN void operator()(std::size_t i, std::size_t where) const {
#ifndef __CUDA_ARCH__
        if (i == where) throw Boom("at " + std::to_string(i));
#else
        (void)i, (void)where;
#endif
    }
};

struct ThrowAlways {
    HEDDLE_FN void operator()(std::size_t) const {
#ifndef __CUDA_ARCH__
        throw Boom("always");
#endif
    }
};

/// A HEDDLE_FN lambda is a kernel, too. This is a function, because nvcc accepts no such lambda in
/// a test case.
inline void launch_a_lambda(StreamRef s, Array<int>& x) {
    int offset = 0;
    offset += 5;  // so it is not a constant, and must be captured
    launch(
        s, [offset] HEDDLE_FN(std::size_t i, View<int> y) { y[i] = static_cast<int>(i) + offset; },
        dim(x.size()), x);
}

}  // namespace heddle_test

using namespace heddle_test;

TEST_CASE("a kernel runs once for each index") {
    const std::size_t n =
        GENERATE(1u, 2u, 31u, 32u, 33u, 255u, 256u, 257u, 1000u, 4096u, 100'003u, 3'000'001u);
    CAPTURE(n);
    const Stream s(test_device());
    Array<std::uint8_t> x = zeros<std::uint8_t>(s, n + 64);
    launch(s, Add{}, dim(n), x, std::uint8_t{1});
    const std::vector<std::uint8_t> back = to_host(s, x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < back.size(); ++i) wrong += back[i] != (i < n ? 1 : 0);
    CHECK(wrong == 0);
}

TEST_CASE("a kernel loops over a view") {
    const Stream s(test_device());
    const Array<int> x = from_host(s, {1, 20, 300});
    Array<int> total = zeros<int>(s, 1);
    launch(s, Total{}, dim(1), x, total);
    CHECK(to_host(total) == std::vector<int>{321});
}

TEST_CASE("a kernel is told its index") {
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 100'000);
    launch(s, Iota{}, dim(x.size()), x);
    const std::vector<int> back = to_host(s, x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < back.size(); ++i) wrong += back[i] != static_cast<int>(i);
    CHECK(wrong == 0);
}

TEST_CASE("a kernel of two dimensions is told x and y") {
    const Stream s(test_device());
    const std::size_t nx = 37, ny = 29;
    Array<int> out = zeros<int>(s, nx * ny);
    launch(s, Mark2{}, dim(nx, ny), out, nx);
    const std::vector<int> back = to_host(s, out);
    std::size_t wrong = 0;
    for (std::size_t y = 0; y < ny; ++y)
        for (std::size_t x = 0; x < nx; ++x)
            wrong += back[y * nx + x] != static_cast<int>(x * 1000 + y);
    CHECK(wrong == 0);
}

TEST_CASE("a kernel of three dimensions is told x, y and z") {
    const Stream s(test_device());
    const std::size_t nx = 7, ny = 5, nz = 11;
    Array<int> out = zeros<int>(s, nx * ny * nz);
    launch(s, Mark3{}, dim(nx, ny, nz), out, nx, ny);
    const std::vector<int> back = to_host(s, out);
    std::size_t wrong = 0;
    for (std::size_t z = 0; z < nz; ++z)
        for (std::size_t y = 0; y < ny; ++y)
            for (std::size_t x = 0; x < nx; ++x)
                wrong += back[(z * ny + y) * nx + x] != static_cast<int>(x + 10 * y + 100 * z + 1);
    CHECK(wrong == 0);
}

TEST_CASE("extents may be far apart: each index runs once") {
    const Stream s(test_device());
    const auto [nx, ny] = GENERATE(std::pair<std::size_t, std::size_t>{1, 600'000},
                                   std::pair<std::size_t, std::size_t>{600'000, 1},
                                   std::pair<std::size_t, std::size_t>{3, 300'001});
    Array<std::uint8_t> out = zeros<std::uint8_t>(s, nx * ny);
    launch(s, Count2{}, dim(nx, ny), out, nx);
    CHECK(to_host(s, out) == std::vector<std::uint8_t>(nx * ny, 1));
}

TEST_CASE("any of three extents may be the large one") {
    const Stream s(test_device());
    const std::size_t big = 140'001;  // exceeds the limit of a CUDA grid's y and z
    const int which = GENERATE(0, 1, 2);
    const std::size_t nx = which == 0 ? big : 2, ny = which == 1 ? big : 2,
                      nz = which == 2 ? big : 2;
    Array<std::uint8_t> out = zeros<std::uint8_t>(s, nx * ny * nz);
    launch(s, Count3{}, dim(nx, ny, nz), out, nx, ny);
    CHECK(to_host(s, out) == std::vector<std::uint8_t>(nx * ny * nz, 1));
}

TEST_CASE("an extent of zero enqueues nothing") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 1);
    const OpCounter counted;
    launch(s, Iota{}, dim(0), x);
    launch(s, Mark2{}, dim(0, 5), x, std::size_t{1});
    launch(s, Mark2{}, dim(5, 0), x, std::size_t{1});
    launch(s, Mark3{}, dim(5, 5, 0), x, std::size_t{1}, std::size_t{1});
    CHECK(counted.stats().launches == 0);
    CHECK(to_host(s, x)[0] == 0);
}

TEST_CASE("extents whose product does not fit a number are refused, not dropped") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 1);
    const std::size_t half = std::size_t{1} << 32;
    CHECK_THROWS_AS(launch(s, Mark2{}, dim(half, half), x, half), UsageError);
    CHECK_THROWS_AS(launch(s, Mark3{}, dim(half, half / 2, 2), x, half, half), UsageError);
    CHECK(to_host(s, x)[0] == 0);
}

TEST_CASE("a product of extents that fits a number, and that no device gets through, is refused") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 1);
    const std::size_t bytes = std::size_t{1} << 31;
    const auto error = error_of([&] { launch(s, Mark2{}, dim(bytes, bytes), x, std::size_t{1}); });
    CHECK(mentions(error, "2147483648 x 2147483648 indices are more than any device can run"));
    CHECK_THROWS_AS(kernel_node(Mark2{}, dim(bytes, bytes), x, std::size_t{1}), UsageError);
    CHECK_THROWS_AS(launch(s, Mark3{}, dim(bytes, 1024, 1 << 20), x, bytes, bytes), UsageError);
    CHECK(to_host(s, x)[0] == 0);
}

TEST_CASE("a negative extent is refused where it is written, and the message has it") {
    const auto count = static_cast<std::size_t>(-3);  // as if a negative number was converted
    const auto minus = static_cast<std::size_t>(-1);
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { (void)dim(count); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), contains("-3"));
    CHECK_THROWS_AS(dim(minus, 4), UsageError);
    CHECK_THROWS_AS(dim(4, minus), UsageError);
    CHECK_THROWS_AS(dim(minus, 4, 4), UsageError);
    CHECK_THROWS_AS(dim(4, minus, 4), UsageError);
    CHECK_THROWS_AS(dim(4, 4, minus), UsageError);
}

TEST_CASE("extents may be signed numbers, and known when compiling") {
    const int columns = 5;
    const long rows = 3;
    const short layers = 2;
    constexpr Dim<3> fixed = dim(5, 3, 2);
    const Dim<3> passed = dim(columns, rows, layers);
    CHECK(std::ranges::equal(fixed.extent, passed.extent));
    CHECK(dim(std::numeric_limits<std::ptrdiff_t>::max()).extent[0] == ~std::size_t{0} >> 1);
}

TEST_CASE("a negative extent past dim() is refused by the launch") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 4);
    Dim<1> negative = dim(1);
    negative.extent[0] = static_cast<std::size_t>(-1);
    CHECK_THROWS_AS(launch(s, Add{}, negative, x, 1), UsageError);
    CHECK_THROWS_AS(kernel_node(test_device(), Add{}, negative, x, 1), UsageError);
    CHECK(to_host(s, x) == Ints(4, 0));
}

TEST_CASE("arguments of every kind arrive") {
    const Stream s(test_device());
    Array<int> in = full<int>(s, 100, 1000);
    Array<double> out = zeros<double>(s, 100);
    launch(s, ManyArguments{}, dim(100), true, char{2}, short{3}, 4, std::int64_t{5}, 6.5f, 7.25,
           Settings{8, 9.0, {0, 0, 10}}, in, out);
    CHECK(to_host(s, out) ==
          std::vector<double>(100, 1 + 2 + 3 + 4 + 5 + 6.5 + 7.25 + 8 + 9 + 10 + 1000));
}

TEST_CASE("a kernel with many arguments, one of them aligned to 64 bytes, is recorded and changed",
          "[graphs]") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100), y = zeros<int>(s, 100);
    const auto launch_many = [&](Array<int>& to, int last) {
        launch(s, SumOfMany{}, dim(10), to, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
               Aligned{last});
    };
    constexpr int sum = 136;  // the sum of 1 to 16
    launch_many(x, 1000);
    Graph captured = capture(s, [&] { launch_many(y, 2000); });
    captured.launch(s);
    CHECK(to_host(s, x)[9] == sum + 1000);
    CHECK(to_host(s, y)[9] == sum + 2000);
    CHECK(to_host(s, x)[10] == 0);

    auto node = kernel_node(test_device(), SumOfMany{}, dim(10), x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                            11, 12, 13, 14, 15, 16, Aligned{3000});
    Graph graph = node.build();
    graph.launch(s);
    CHECK(to_host(s, x)[9] == sum + 3000);
    node.dim(dim(20)).args(y, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, Aligned{4000});
    graph.launch(s);
    CHECK(to_host(s, y)[19] == sum + 4000);
    CHECK(to_host(s, y)[20] == 0);
    node.dim(dim(30));
    graph.launch(s);
    CHECK(to_host(s, y)[29] == sum + 4000);
}

TEST_CASE("an array, a constant array and views of them may stand for a view") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, 10, 3), y = zeros<int>(s, 10);
    const Array<int>& constant = x;
    launch(s, AddTo{}, dim(10), x, y);
    launch(s, AddTo{}, dim(10), constant, y);
    launch(s, AddTo{}, dim(10), x.view(), y.view());
    launch(s, AddTo{}, dim(5), constant.view().last(5), y.view().first(5));
    CHECK(to_host(s, y) == std::vector<int>{12, 12, 12, 12, 12, 9, 9, 9, 9, 9});
}

TEST_CASE("a kernel's own state goes with it, as it was at the call") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<float> x = full<float>(s, 10, 2.0f);
    gate.hold(s);
    Scale kernel{4.0f};
    launch(s, kernel, dim(10), x);
    kernel.factor = 100.0f;
    gate.open();
    CHECK(to_host(s, x) == std::vector<float>(10, 8.0f));
}

TEST_CASE("a lambda marked for both compilers is a kernel") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    launch_a_lambda(s, x);
    CHECK(to_host(s, x) == std::vector<int>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
}

TEST_CASE("an explicit stream runs the kernel there, whatever is current") {
    DrainedGate gate;
    const Stream held(test_device()), s(test_device());
    Array<int> x = zeros<int>(s, 10);
    gate.hold(held);
    const ScopedStream in{held};
    const OpCounter counted;
    launch(s, Add{}, dim(10), x, 1);
    CHECK(counted.stats().waits_inserted + counted.stats().waits_elided == 0);
    CHECK(to_host(s, x) ==
          std::vector<int>(10, 1));  // would never return if it ran on the current stream
}

TEST_CASE("a kernel waits its turn on its stream") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    gate.hold(s);
    launch(s, Set{}, dim(10), x, 5);
    const Stream other(test_device());
    CHECK(to_host_behind_gate(other, x) == std::vector<int>(10, 0));
    gate.open();
    CHECK(to_host(s, x) == std::vector<int>(10, 5));
}

TEST_CASE("a launch on a device runs on its current stream", "[graphs]") {
    const Drained drained;
    for (const Device device : test_devices()) {
        const Stream s(device);
        const ScopedStream in(s);
        Array<int> x = zeros<int>(device, 10);
        Graph graph = kernel_node(Add{}, dim(10), x, 100).build();
        auto prepared = prepare(device, Add{}, dim(10), x, 1000);
        const ScopedDevice elsewhere(cpu_device());
        s.synchronize();
        Gate gate(s);
        launch(device, Add{}, dim(10), x, 1);
        launch(device, AddRow{}, dim(5, 2), View2D<int>(x, 2, 5));
        launch(device, graph);
        launch(device, prepared);
        CHECK(to_host_behind_gate(Stream(device), x) == Ints(10, 0));
        gate.open();
        CHECK(to_host(s, x) == Ints{1121, 1121, 1121, 1121, 1121, 1122, 1122, 1122, 1122, 1122});
    }
}

TEST_CASE("all indices of a kernel have run before what follows it") {
    const Drained drained;
    const Stream s(test_device());
    const std::size_t n = 200'000;
    Array<int> x = zeros<int>(s, n);
    for (int i = 0; i < 20; ++i) {
        launch(s, Add{}, dim(n), x, 1);
        launch(s, Multiply{}, dim(n), x, 2);
    }
    int expected = 0;
    for (int i = 0; i < 20; ++i) expected = (expected + 1) * 2;
    CHECK(to_host(s, x) == std::vector<int>(n, expected));
}

TEST_CASE("an empty array may be an argument of a kernel that does not touch it") {
    const Stream s(test_device());
    Array<int> nothing, x = zeros<int>(s, 4);
    launch(s, AddTo{}, dim(0), nothing, x);
    CHECK(to_host(s, x) == std::vector<int>(4, 0));
}

TEST_CASE("what a CPU kernel throws poisons its stream, wherever among the indices it is thrown") {
    if (!test_device().is_cpu()) HEDDLE_SKIP("kernels on a GPU cannot throw");
    const std::size_t at = GENERATE(0u, 1u, 50'000u, 99'999u);
    const Stream s(test_device());
    launch(s, ThrowAt{}, dim(100'000), at);
    const Error error = thrown_by([&] { s.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK(cause_of(error) == "at " + std::to_string(at));
    CHECK_THAT(error.what(), contains("ThrowAt"));
}

TEST_CASE("a CPU kernel of which every index throws fails once") {
    if (!test_device().is_cpu()) HEDDLE_SKIP("kernels on a GPU cannot throw");
    const Stream s(cpu_device());
    launch(s, ThrowAlways{}, dim(10'000));
    CHECK(cause_of(*error_of([&] { s.synchronize(); })) == "always");
    CHECK(s.clear_error() != nullptr);
    CHECK(s.clear_error() == nullptr);
}

TEST_CASE("an array that holds nothing is no argument, an empty view is") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 4), gone = std::move(x), never;
    for (Array<int>* array : {&x, &never}) {
        const Error error = thrown_by([&] { launch(s, Add{}, dim(4), *array, 1); });
        CHECK(error.code() == ErrorCode::usage);
        CHECK_THAT(error.what(), contains("this array has no memory"));
    }
    launch(s, Add{}, dim(0), View<int>(), 1);
    CHECK(to_host(s, gone) == std::vector<int>(4, 0));
}

TEST_CASE("a launch says which of its arguments holds nothing, or outlived its array", "[graphs]") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 4), none;
    CHECK(mentions(error_of([&] { launch(s, AddTo{}, dim(4), none, x); }),
                   "argument 1: this array has no memory"));
    CHECK(mentions(error_of([&] { launch(s, AddTo{}, dim(4), x, none); }),
                   "argument 2: this array has no memory"));
    CHECK(mentions(error_of([&] { (void)prepare(test_device(), AddTo{}, dim(4), x, none); }),
                   "argument 2: this array has no memory"));
    Array<int> gone = zeros<int>(s, 4);
    const View<int> dead = gone;
    gone.reset();
    CHECK(mentions(error_of([&] { launch(s, AddTo{}, dim(4), x, dead); }),
                   "argument 2: this view outlived its array"));
    s.synchronize();
}
