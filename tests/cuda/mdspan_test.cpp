// Mdspans and spans of CCCL as kernels' parameters and arguments, on CPU devices and GPUs.
#include "cuda/mdspans.cuh"

#include <algorithm>

using namespace heddle_test;

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
        const Error error = thrown_by(call);
        CHECK(error.code() == ErrorCode::usage);
        return std::string(error.what());
    };
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { (void)spanning<Matrix>(f.x, 3, 5); });
    CHECK(error.where().line == line);
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
