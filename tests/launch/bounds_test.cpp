// Checks of indices (docs/adr/0073): kernels and their arguments.
#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 1
#include "launch/bounds_kernels.hpp"

#include <utility>

using namespace heddle_test;

namespace {
constexpr std::size_t n = 1000;
}  // namespace

TEST_CASE("bounds: an index behind the end is reported with kernel, argument and place") {
    Here here;
    const Array<int> x = zeros<int>(n);
    Array<int> y = zeros<int>(n);
    const unsigned line = __LINE__ + 1;
    launch(ReadAt{}, dim(n), x, y, 1u);
    const std::optional<WorkFailed> failed = failure_of(here.stream);
    REQUIRE(failed);
    INFO(failed->what());
    CHECK(has(*failed, "ReadAt used index 1000 of a view of 1000 elements (argument 1)"));
    CHECK(failed->where().line == line);
    CHECK(failed->stream_id() == here.stream.id());
    CHECK(failed->call() == "launch");
    const std::optional<IndexOutOfRange> bad = index_of(failed);
    REQUIRE(bad);
    CHECK(bad->data() == std::as_const(x).view().data());
    CHECK(!bad->is_2d());
}

TEST_CASE("bounds: work with right indices succeeds") {
    Here here;
    const Array<int> x = full<int>(n, 3);
    Array<int> y = zeros<int>(n);
    launch(ReadAt{}, dim(n - 1), x, y, 1u);
    launch(WriteAt{}, dim(n), y, 0u);
    View2D<int> rows(y, 10, 50, 100);
    launch(WriteRow{}, dim(50, 10), rows);
    CHECK(!failure_of(here.stream));
    CHECK(to_host(y)[999] == 999);
}

TEST_CASE("bounds: an index before the beginning is reported as the program wrote it") {
    Here here;
    Array<int> y = zeros<int>(n);
    launch(WriteAt{}, dim(1), y, ~std::size_t{0});
    const std::optional<WorkFailed> failed = failure_of(here.stream);
    REQUIRE(failed);
    CHECK(has(*failed, "used index -1 of a view of 1000 elements (argument 1)"));
}

TEST_CASE("bounds: captured views, members of classes and views without an owner") {
    Here here;
    Array<int> x = zeros<int>(n), y = zeros<int>(10);
    SECTION("held by the kernel") {
        launch(WriteHeld{x, y}, dim(11));
        require_bad(here.stream, 10, 10, 0);
    }
    SECTION("captured by a lambda") {
        const View<int> to = y.view();
        launch([=] HEDDLE_FN(std::size_t i) { to[i] = 1; }, dim(11));
        require_bad(here.stream, 10, 10, 0);
    }
    SECTION("in a class") {
        launch(WriteInClass{}, dim(11), 1, Two{x, y});
        require_bad(here.stream, 10, 10, 2);
    }
    SECTION("of an address") {
        launch(WriteAt{}, dim(11), View<int>(y.data(), 10), 0u);
        require_bad(here.stream, 10, 10, 1);
    }
}

TEST_CASE("bounds: parts of arrays have bounds of their own") {
    Here here;
    Array<int> x = full<int>(n, 1);
    launch(WriteAt{}, dim(101), x.view().subview(100, 100), 0u);
    const IndexOutOfRange bad = require_bad(here.stream, 100, 100, 1);
    CHECK(bad.data() == x.data() + 100);
    CHECK(to_host(x)[200] == 1);  // the element behind the part is not written
}

TEST_CASE("bounds: rows and columns of rectangles") {
    Here here;
    Array<int> x = zeros<int>(n), y = zeros<int>(n);
    const View2D<int> to(x, 10, 50, 100);
    SECTION("a column that the memory has") {
        launch(WriteRow{}, dim(51, 1), to);
        const IndexOutOfRange bad = require_bad(here.stream, 50, 50, 1);
        CHECK(bad.is_2d());
        CHECK(bad.row() == 0);
        CHECK(bad.rows() == 10);
        CHECK(to_host(x)[50] == 0);
    }
    SECTION("a row") {
        launch(WriteRow{}, dim(1, 11), to);
        const std::optional<WorkFailed> failed = failure_of(here.stream);
        REQUIRE(failed);
        INFO(failed->what());
        CHECK(
            has(*failed, "used row 10, column 0 of a view of 10 rows and 50 columns (argument 1)"));
    }
    SECTION("of const elements") {
        launch(ReadRow{}, dim(1, 10), View2D<const int>(y, 9, 50), to);
        const IndexOutOfRange bad = require_bad(here.stream, 0, 50, 1);
        CHECK(bad.row() == 9);
    }
}

TEST_CASE("bounds: kernels of three dimensions") {
    Here here;
    Array<int> x = zeros<int>(63);
    launch(WriteCube{}, dim(4, 4, 4), x);
    require_bad(here.stream, 63, 63, 1);
}

TEST_CASE("bounds: many wrong indices are one report, and other elements are written") {
    Here here;
    Array<int> x = zeros<int>(100'000);
    launch(GoOn{}, dim(100'000), x);
    const std::optional<WorkFailed> failed = failure_of(here.stream);
    REQUIRE(failed);
    const std::optional<IndexOutOfRange> bad = index_of(failed);
    REQUIRE(bad);
    CHECK(bad->size() == 100'000);
    CHECK(bad->index() >= 100'000);
    CHECK(!failure_of(here.stream));
    if (test_device().is_cuda()) CHECK(to_host(x) == Ints(100'000, 7));
    else CHECK(to_host(x)[0] == 7);  // pieces that begin later are dropped
}

TEST_CASE("bounds: elements of any size and alignment have a dummy") {
    Here here;
    Array<Wide> x = zeros<Wide>(10);
    launch(WriteWide{}, dim(10), x);
    require_bad(here.stream, 10, 10, 1);
}

TEST_CASE("bounds: later work is dropped, and works again after clear_error()") {
    Here here;
    Array<int> x = zeros<int>(n);
    launch(WriteAt{}, dim(n), x, 1u);
    CHECK_THROWS_AS(here.stream.synchronize(), WorkFailed);
    launch(WriteAt{}, dim(n), x, 0u);
    CHECK_THROWS_AS(here.stream.synchronize(), WorkFailed);
    here.stream.clear_error();
    launch(WriteAt{}, dim(n), x, 0u);
    here.stream.synchronize();
    CHECK(to_host(x)[999] == 999);
    launch(WriteAt{}, dim(n), x, 1u);  // the next bad index is reported, too
    require_bad(here.stream, n, n, 1);
}

TEST_CASE("bounds: a stream that waited for the work fails too") {
    Here here;
    Stream other(test_device());
    Array<int> x = zeros<int>(n);
    launch(WriteAt{}, dim(n), x, 1u);
    other.wait_stream(here.stream);
    launch(other, WriteAt{}, dim(n), x, 0u);
    CHECK_THROWS_AS(other.synchronize(), WorkFailed);
    CHECK(failure_of(here.stream));
}
