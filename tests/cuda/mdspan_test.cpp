// Mdspans and spans of CCCL as kernels' parameters and arguments, on CPU devices and GPUs.
#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "operation/watch.hpp"

#include <heddle/by_data.hpp>
#include <heddle/with/mdspan.hpp>

#include <cuda/std/mdspan>
#include <cuda/std/span>

#include <algorithm>
#include <numeric>
#include <utility>

using namespace heddle_test;

namespace heddle_test {

using cuda::std::dextents;
using cuda::std::extents;
template <class T, std::size_t rank>
using Grid = cuda::std::mdspan<T, dextents<std::size_t, rank>, cuda::std::layout_right>;
using Matrix = Grid<int, 2>;
using ConstMatrix = Grid<const int, 2>;
using Left = cuda::std::mdspan<int, dextents<int, 2>, cuda::std::layout_left>;
using Strided = cuda::std::mdspan<int, dextents<std::size_t, 2>, cuda::std::layout_stride>;
using Point = cuda::std::mdspan<int, extents<int>>;
using Fixed = cuda::std::mdspan<int, extents<int, 3, cuda::std::dynamic_extent>>;

/// m(y, x) = 10 y + x + 1
struct SetAll {
    template <class M> HEDDLE_FN void operator()(std::size_t x, std::size_t y, M m) const {
        m(y, x) = static_cast<int>(10 * y + x + 1);
    }
};
struct AddMatrix {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, ConstMatrix in, Matrix out) const {
        out(y, x) += in(y, x);
    }
};
struct AddOnes {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, Matrix m) const { m(y, x) += 1; }
};
struct SetPoint {
    HEDDLE_FN void operator()(std::size_t, Point p) const { p() = 42; }
};
struct Iota1 {
    HEDDLE_FN void operator()(std::size_t x, Grid<int, 1> m) const { m(x) = static_cast<int>(x); }
};
struct Iota3 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, Grid<int, 3> m) const {
        m(z, y, x) = static_cast<int>((z * m.extent(1) + y) * m.extent(2) + x);
    }
};
struct Iota4 {
    HEDDLE_FN void operator()(std::size_t i, Grid<int, 4> m) const {
        std::size_t at[4], rest = i;
        for (std::size_t r = 4; r-- > 0; rest /= m.extent(r)) at[r] = rest % m.extent(r);
        m(at[0], at[1], at[2], at[3]) = static_cast<int>(i);
    }
};
/// y[i] += x[i]
struct AddSpan {
    HEDDLE_FN void operator()(std::size_t i, cuda::std::span<const int> x,
                              cuda::std::span<int> y) const {
        y[i] += x[i];
    }
};
struct ThrowInGrid {
    HEDDLE_FN void operator()(std::size_t, std::size_t, Matrix m) const {
        m(0, 0) = 1;
#ifndef __CUDA_ARCH__
        throw Boom("from the kernel");
#endif
    }
};

}  // namespace heddle_test

namespace {

void check_access(const OpAccess& access, const Array<int>& array, std::size_t first,
                  std::size_t count, AccessMode mode, int argument) {
    CHECK(access.data == std::as_const(array).view().data() + first);
    CHECK(access.bytes == count * sizeof(int));
    CHECK(access.allocation == detail::allocation_of(detail::Access::block(array)));
    CHECK(access.mode == mode);
    CHECK(access.argument == argument);
    CHECK(access.element == sizeof(int));
}

struct Fixture {
    Fixture() { s.synchronize(); }
    Drained drained;
    Stream s{test_device(), {.name = "s"}};
    Array<int> x = full<int>(s, 12, 5), y = zeros<int>(s, 12);
};

Ints iota(std::size_t n) {
    Ints all(n);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

}  // namespace

TEST_CASE("mdspans: spanning() is tracked as a view of the elements") {
    Fixture f;
    Watch watch;
    launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
           spanning<Matrix>(f.y, 3, 4));
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    check_access(seen.accesses[0], f.x, 0, 12, AccessMode::read, 0);
    check_access(seen.accesses[1], f.y, 0, 12, AccessMode::read_write, 1);
    CHECK_FALSE(seen.op.holds_pointers);
    CHECK(to_host(f.s, f.y) == Ints(12, 5));

    // A const array, for elements that are const; and a parameter that only reads.
    const Array<int>& fixed = f.x;
    launch(f.s, AddMatrix{}, dim(2, 2), spanning<ConstMatrix>(fixed, 2, 2),
           spanning<Matrix>(f.y.subview(4, 8), 2, 2));
    const Seen parts = watch.take_only(OpKind::launch);
    REQUIRE(parts.accesses.size() == 2);
    check_access(parts.accesses[0], f.x, 0, 4, AccessMode::read, 0);
    check_access(parts.accesses[1], f.y, 4, 4, AccessMode::read_write, 1);
    launch(f.s, AddMatrix{}, dim(2, 2), spanning<Matrix>(f.x, 2, 2), spanning<Matrix>(f.y, 2, 2));
    CHECK(watch.take_only(OpKind::launch).accesses.at(0).mode == AccessMode::read);
}

TEST_CASE("mdspans: a plain mdspan is found by its address") {
    Fixture f;
    Watch watch;
    const auto x = spanning<ConstMatrix>(f.x, 3, 4).mdspan();
    const auto y = spanning<Matrix>(f.y.last(4), 2, 2).mdspan();
    launch(f.s, AddMatrix{}, dim(2, 2), x, y);
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    check_access(seen.accesses[0], f.x, 0, 12, AccessMode::read, 0);
    check_access(seen.accesses[1], f.y, 8, 4, AccessMode::read_write, 1);
    Ints expected(12, 0);
    std::fill_n(expected.end() - 4, 4, 5);
    CHECK(to_host(f.s, f.y) == expected);
}

TEST_CASE("mdspans: dim() has their extents, with the last one first") {
    Fixture f;
    const auto matrix = spanning<Matrix>(f.y, 3, 4);
    CHECK(dim(matrix).extent[0] == 4);
    CHECK(dim(matrix.mdspan()).extent[1] == 3);
    launch(f.s, SetAll{}, dim(matrix), matrix);
    CHECK(to_host(f.s, f.y) == Ints{1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24});
    const auto left = spanning<Left>(f.y, 3, 4);
    launch(f.s, SetAll{}, dim(left), left);
    CHECK(to_host(f.s, f.y) == Ints{1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24});
    const auto fixed = spanning<Fixed>(f.x, 4);
    launch(f.s, SetAll{}, dim(fixed), fixed);
    CHECK(to_host(f.s, f.x) == Ints{1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24});
}

TEST_CASE("mdspans: zero to four dimensions") {
    Fixture f;
    const auto point = spanning<Point>(f.y);
    launch(f.s, SetPoint{}, dim(point), point);
    CHECK(to_host(f.s, f.y)[0] == 42);
    const auto line = spanning<Grid<int, 1>>(f.y, 12);
    launch(f.s, Iota1{}, dim(line), line);
    CHECK(to_host(f.s, f.y) == iota(12));
    fill_zero(f.s, f.y);
    const auto cube = spanning<Grid<int, 3>>(f.y, 2, 3, 2);
    launch(f.s, Iota3{}, dim(cube), cube);
    CHECK(to_host(f.s, f.y) == iota(12));
    fill_zero(f.s, f.y);
    const auto four = spanning<Grid<int, 4>>(f.y, 1, 2, 3, 2);
    launch(f.s, Iota4{}, dim(four.mdspan().size()), four);
    CHECK(to_host(f.s, f.y) == iota(12));
}

TEST_CASE("mdspans: rows with padding are tracked from the first element to the last one") {
    Fixture f;
    Watch watch;
    const Strided::mapping_type rows(Strided::extents_type(2, 3),
                                     cuda::std::array<std::size_t, 2>{5, 1});
    const auto padded = spanning<Strided>(f.y, rows);
    launch(f.s, SetAll{}, dim(padded), padded);
    check_access(watch.take_only(OpKind::launch).accesses.at(0), f.y, 0, 8, AccessMode::read_write,
                 0);
    CHECK(to_host(f.s, f.y) == Ints{1, 2, 3, 0, 0, 11, 12, 13, 0, 0, 0, 0});
}

TEST_CASE("mdspans: empty ones access nothing") {
    Fixture f;
    Watch watch;
    launch(f.s, SetAll{}, dim(0, 3), spanning<Matrix>(f.y, 3, 0));
    launch(f.s, AddMatrix{}, dim(1, 1), spanning<Matrix>(f.x, 1, 1), spanning<Matrix>(f.y, 1, 1));
    const Array<int> none(f.s, 0);
    const auto empty = spanning<ConstMatrix>(none, 0, 7);
    CHECK(empty.memory().empty());
    launch(f.s, AddMatrix{}, dim(empty), empty, spanning<Matrix>(f.y, 0, 7));
    CHECK(to_host(f.s, f.y)[0] == 5);
}

TEST_CASE("mdspans: extents that do not fit are refused, with the numbers") {
    Fixture f;
    const auto text = [](const auto& call) {
        const auto error = error_of(call);
        REQUIRE(error);
        CHECK(error->code() == ErrorCode::usage);
        return std::string(error->what());
    };
    const unsigned line = __LINE__ + 1;
    const auto error = error_of([&] { (void)spanning<Matrix>(f.x, 3, 5); });
    REQUIRE(error);
    CHECK(error->where().line == line);
    CHECK(mentions(error, "an mdspan of 3 x 5 needs 15 elements, but the memory has 12"));
    CHECK(text([&] { (void)spanning<Matrix>(f.x.first(5), 3, 2); }).find("has 5") !=
          std::string::npos);
    const Strided::mapping_type rows(Strided::extents_type(3, 3),
                                     cuda::std::array<std::size_t, 2>{5, 1});
    CHECK(text([&] { (void)spanning<Strided>(f.x, rows); }).find("3 x 3 needs 13 elements") !=
          std::string::npos);
    CHECK(text([&] { (void)spanning<Point>(f.x.first(0)); }).find("no dimensions needs 1") !=
          std::string::npos);
    CHECK(text([&] { (void)spanning<Matrix>(f.x, -1, 5); }).find("extent 0 is -1") !=
          std::string::npos);
    CHECK(text([&] {
              (void)spanning<Left>(f.x, 1, 3'000'000'000u);
          }).find("extent 1 is 3000000000: pass 0 to 2147483647") != std::string::npos);
    CHECK(text([&] { (void)spanning<Left>(f.x, 65536, 65536); }).find("larger index_type") !=
          std::string::npos);
    CHECK(text([&] { (void)spanning<Fixed>(f.x, 2, 4); }).find("fixes it as 3") !=
          std::string::npos);
    Array<int> moved = std::move(f.x);
    CHECK(error_of([&] { (void)spanning<Matrix>(f.x, 1, 1); }));  // NOLINT(bugprone-use-after-move)
    const auto kept = spanning<Matrix>(moved, 1, 1);
    moved.reset();
    CHECK(mentions(error_of([&] { launch(f.s, AddOnes{}, dim(1, 1), kept); }), "argument 1"));
}

TEST_CASE("mdspans: an array is freed after kernels that use it through an mdspan") {
    Fixture f;
    Gate gate;
    gate.hold(f.s);
    SECTION("by spanning()") {
        launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
               spanning<Matrix>(f.y, 3, 4));
    }
    SECTION("by the address") {
        launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4).mdspan(),
               spanning<Matrix>(f.y, 3, 4));
    }
    f.x.reset();
    const Stream other(test_device());
    std::vector<Array<int>> others;  // if the memory were free, these would get it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, 12, 1000));
    other.synchronize();
    gate.open();
    CHECK(to_host(f.s, f.y) == Ints(12, 5));
}

TEST_CASE("mdspans: prepared launches take other mdspans") {
    Fixture f;
    auto add = prepare(test_device(), AddOnes{}, dim(4, 3), spanning<Matrix>(f.x, 3, 4));
    add.launch(f.s);
    add.set<0>(spanning<Matrix>(f.y, 3, 4)).launch(f.s);
    add.dim(dim(2, 2)).set<0>(spanning<Matrix>(f.y, 2, 2)).launch(f.s);
    CHECK(to_host(f.s, f.x) == Ints(12, 6));
    CHECK(to_host(f.s, f.y) == Ints{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1});
    f.y.reset();
    CHECK(error_of([&] { add.launch(f.s); }));
}

TEST_CASE("mdspans: graphs, captures and batches") {
    Fixture f;
    SECTION("a node with changed arguments") {
        auto add = kernel_node(test_device(), AddOnes{}, dim(4, 3), spanning<Matrix>(f.x, 3, 4));
        Graph graph = add.build();
        graph.launch(f.s);
        add.args(spanning<Matrix>(f.y, 3, 4));
        graph.launch(f.s);
        add.args(spanning<Matrix>(f.y, 2, 2)).dim(dim(2, 2));
        graph.launch(f.s);
        CHECK(to_host(f.s, f.x) == Ints(12, 6));
        CHECK(to_host(f.s, f.y) == Ints{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1});
        f.y.reset();
        CHECK(error_of([&] { graph.launch(f.s); }));
    }
    SECTION("a capture") {
        ScopedCapture capture(f.s);
        launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
               spanning<Matrix>(f.y, 3, 4));
        Graph graph = capture.end();
        for (int i = 0; i < 3; ++i) graph.launch(f.s);
        CHECK(to_host(f.s, f.y) == Ints(12, 15));
    }
    SECTION("a batch, replayed with other arrays") {
        Batch batch;
        for (int i = 0; i < 4; ++i) {
            const ScopedBatch in(batch, f.s);
            launch(f.s, AddOnes{}, dim(4, 3), spanning<Matrix>(i % 2 == 0 ? f.x : f.y, 3, 4));
            launch(f.s, AddOnes{}, dim(4, 3), spanning<Matrix>(f.y, 3, 4).mdspan());
        }
        CHECK(to_host(f.s, f.x) == Ints(12, 7));
        CHECK(to_host(f.s, f.y) == Ints(12, 6));
    }
}

TEST_CASE("mdspans: order_by_data orders kernels by their mdspans") {
    Fixture f;
    Array<int> z = zeros<int>(f.s, 12);
    f.s.synchronize();
    {
        order_by_data order(test_device());
        for (int i = 0; i < 20; ++i) {
            launch(order, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
                   spanning<Matrix>(f.y, 3, 4));
            launch(order, AddMatrix{}, dim(4, 3), spanning<Matrix>(f.y, 3, 4).mdspan(),
                   spanning<Matrix>(z, 3, 4));
            launch(order, AddOnes{}, dim(4, 3), spanning<Matrix>(f.x, 3, 4));
        }
        order.synchronize();
    }
    int x = 5, y = 0, sum = 0;
    for (int i = 0; i < 20; ++i) y += x++, sum += y;
    CHECK(to_host(f.s, z) == Ints(12, sum));
}

TEST_CASE("mdspans: the checker names the argument") {
    Fixture f;
    const Stream other(test_device(), {.name = "other"});
    other.synchronize();
    Checked checked;
    launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
           spanning<Matrix>(f.y, 3, 4));
    wait_unseen(f.s);
    launch(other, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
           spanning<Matrix>(f.y, 3, 4).mdspan());
    wait_unseen(other);
    const check::Race race = checked.expect(check::RaceKind::write_after_write);
    INFO(race.text);
    CHECK(race.text.find("through its 2nd argument") != std::string::npos);
}

TEST_CASE("mdspans: a kernel that throws poisons the stream") {
    Fixture f;
    if (f.s.device().is_cuda()) return;
    launch(f.s, ThrowInGrid{}, dim(2, 2), spanning<Matrix>(f.y, 2, 2));
    const auto error = error_of([&] { f.s.synchronize(); });
    REQUIRE(error);
    CHECK(cause_of(*error) == "from the kernel");
}

TEST_CASE("mdspans: as() makes them of memory that the host reaches") {
    Fixture f;
    Array<int> x = pinned<int>(6);
    const auto m = as<Matrix>(x, 2, 3);
    m(1, 2) = 7;
    CHECK(x[5] == 7);
    CHECK(as<ConstMatrix>(std::as_const(x), 2, 3)(1, 2) == 7);
    CHECK(error_of([&] { (void)as<Matrix>(x, 2, 4); }));
    CHECK(error_of([&] { (void)as<Matrix>(f.x, 3, 4); }).has_value() == test_device().is_cuda());
}

TEST_CASE("mdspans: cuda::std::span takes arrays, views and other spans") {
    Fixture f;
    Watch watch;
    launch(f.s, AddSpan{}, dim(12), f.x, f.y);
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    check_access(seen.accesses[0], f.x, 0, 12, AccessMode::read, 0);
    check_access(seen.accesses[1], f.y, 0, 12, AccessMode::read_write, 1);
    const View<int> first = f.y.first(3);
    const cuda::std::span<int> theirs = f.x.last(4);  // a temporary view
    launch(f.s, AddSpan{}, dim(3), theirs, first);
    check_access(watch.take_only(OpKind::launch).accesses.at(0), f.x, 8, 4, AccessMode::read, 0);
    launch(f.s, AddSpan{}, dim(3), std::span<const int>(theirs.data(), 3), first);
    check_access(watch.take_only(OpKind::launch).accesses.at(0), f.x, 8, 3, AccessMode::read, 0);
    CHECK(to_host(f.s, f.y) == Ints{15, 15, 15, 5, 5, 5, 5, 5, 5, 5, 5, 5});
}
