// Checks of indices (docs/adr/0073). This file is compiled with them, and others of the same
// program are not.
#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 1
#include "launch/bounds.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>
#include <heddle/memory/bounds.hpp>

#include <string>
#include <thread>
#include <utility>

using namespace heddle_test;

namespace heddle_test {

/// Reads element i + distance.
struct ReadAt {
    HEDDLE_FN void operator()(std::size_t i, View<const int> from, View<int> to,
                              std::size_t distance) const {
        to[i] = from[i + distance];
    }
};
/// Writes element i + distance.
struct WriteAt {
    HEDDLE_FN void operator()(std::size_t i, View<int> to, std::size_t distance) const {
        to[i + distance] = static_cast<int>(i);
    }
};
struct WriteHeld {
    View<int> first, to;
    HEDDLE_FN void operator()(std::size_t i) const { to[i] = 1; }
};
struct Two {
    View<int> a, b;
};
struct WriteInClass {
    HEDDLE_FN void operator()(std::size_t i, int, Two two) const { two.b[i] = 2; }
};
struct WriteRow {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View2D<int> to) const { to(y, x) = 1; }
};
struct ReadRow {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View2D<const int> from,
                              View2D<int> to) const {
        to(y, x) = from(y, x);
    }
};
struct WriteCube {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, View<int> to) const {
        to[(z * 4 + y) * 4 + x] = 1;
    }
};
/// Continues with the dummy element: counts in it, and then writes the right element.
struct GoOn {
    HEDDLE_FN void operator()(std::size_t i, View<int> to) const {
        int& wrong = to[to.size() + i];
        wrong = 5;
        to[i] = 7;
    }
};
/// Elements of a size and an alignment of their own.
struct alignas(32) Wide {
    int value[40];
};
struct WriteWide {
    HEDDLE_FN void operator()(std::size_t i, View<Wide> to) const { to[i + 1].value[39] = 1; }
};

}  // namespace heddle_test

namespace {

/// Returns the failure of the stream's work. Clears it.
std::optional<WorkFailed> failure_of(StreamRef s) {
    try {
        s.synchronize();
    } catch (const WorkFailed& failed) {
        s.clear_error();
        return failed;
    }
    return std::nullopt;
}
/// Returns the index that the failure reports, or null.
std::optional<IndexOutOfRange> index_of(const std::optional<WorkFailed>& failed) {
    if (!failed || failed->cause() == nullptr) return std::nullopt;
    try {
        std::rethrow_exception(failed->cause());
    } catch (const IndexOutOfRange& bad) {
        return bad;
    } catch (...) {
        return std::nullopt;
    }
}
bool has(const WorkFailed& failed, std::string_view text) {
    return std::string_view(failed.what()).find(text) != std::string_view::npos;
}

/// Requires that the work enqueued on `s` fails at this index and size, in this argument.
IndexOutOfRange require_bad(StreamRef s, std::size_t index, std::size_t size, int argument) {
    const std::optional<WorkFailed> failed = failure_of(s);
    REQUIRE(failed);
    INFO(failed->what());
    const std::optional<IndexOutOfRange> bad = index_of(failed);
    REQUIRE(bad);
    CHECK(bad->index() == index);
    CHECK(bad->size() == size);
    CHECK(bad->argument() == argument);
    return *bad;
}

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
        launch([to = y.view()] HEDDLE_FN(std::size_t i) { to[i] = 1; }, dim(11));
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
        CHECK(has(*failed, "used row 10, column 0 of a view of 10 rows and 50 columns (argument 1)"));
    }
    SECTION("of const elements") {
        launch(ReadRow{}, dim(50, 10), View2D<const int>(y, 9, 50), to);
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
    launch(WriteAt{}, dim(n), x, 1u);  // the next offence is reported as well
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

TEST_CASE("bounds: a node of a graph is named") {
    Here here;
    Array<int> x = zeros<int>(n);
    auto right = kernel_node(WriteAt{}, dim(n), x, 0u).name("right");
    auto wrong = kernel_node(WriteAt{}, dim(n), x, 1u).name("wrong").after(right);
    Graph graph = wrong.build();
    graph.launch(here.stream);
    const std::optional<WorkFailed> failed = failure_of(here.stream);
    REQUIRE(failed);
    INFO(failed->what());
    CHECK(has(*failed, "node 'wrong', "));
    const std::optional<IndexOutOfRange> bad = index_of(failed);
    REQUIRE(bad);
    CHECK(bad->index() == n);
    CHECK(bad->argument() == 1);
    wrong.args(x, 0u);
    graph.launch(here.stream);
    CHECK(!failure_of(here.stream));
}

TEST_CASE("bounds: captures and batches") {
    Here here;
    Array<int> x = zeros<int>(n);
    SECTION("a captured kernel") {
        Graph graph = capture(here.stream, [&] { launch(WriteAt{}, dim(n), x, 1u); });
        CHECK(!failure_of(here.stream));
        graph.launch(here.stream);
        require_bad(here.stream, n, n, 1);
    }
    SECTION("a kernel in a batch") {
        {
            Batch batch({.on_cpu = true});
            const ScopedBatch in(batch);
            for (int i = 0; i < 10; ++i) launch(WriteAt{}, dim(n), x, i == 7 ? 1u : 0u);
        }
        require_bad(here.stream, n, n, 1);
    }
}

TEST_CASE("bounds: prepared launches") {
    Here here;
    Array<int> x = zeros<int>(n);
    auto prepared = prepare(WriteAt{}, dim(n), x, std::size_t{0});
    prepared.launch(here.stream);
    CHECK(!failure_of(here.stream));
    prepared.set<1>(std::size_t{1}).launch(here.stream);
    require_bad(here.stream, n, n, 1);
    prepared.set<1>(std::size_t{0}).launch(here.stream);
    CHECK(!failure_of(here.stream));
}

TEST_CASE("bounds: by data") {
    Here here;
    order_by_data order;
    Array<int> x = zeros<int>(order, n), y = zeros<int>(order, n);
    launch(order, WriteAt{}, dim(n), x, 1u);
    launch(order, ReadAt{}, dim(n), x, y, 0u);
    std::string text;
    try {
        order.synchronize();
    } catch (const WorkFailed& failed) {
        text = failed.what();
    }
    INFO(text);
    CHECK(text.find("WriteAt used index 1000 of a view of 1000 elements (argument 1)") !=
          std::string::npos);
    order.clear_error();
}

TEST_CASE("bounds: host functions") {
    Here here;
    Array<int> x = pinned<int>(n);
    launch_host(here.stream, [to = x.view()] { to[n] = 1; });
    const std::optional<WorkFailed> failed = failure_of(here.stream);
    REQUIRE(failed);
    INFO(failed->what());
    CHECK(has(*failed, "used index 1000 of a view of 1000 elements"));
    CHECK(failed->call() == "launch_host");
}

TEST_CASE("bounds: the host's own indices are reported to the hook, ten for a thread") {
    const Reports reports;
    Array<int> x = pinned<int>(n);
    std::thread([view = x.view()] {
        for (std::size_t i = n; i < n + 20; ++i) view[i] = 1;
    }).join();
    REQUIRE(reports.count() == 10);
    const std::string text = reports.all()[0].what();
    CHECK(text.find("index 1000 of a view of 1000 elements") != std::string::npos);
}

TEST_CASE("bounds: files with and without checks share views") {
    Here here;
    Array<int> x = pinned<int>(n);
    for (std::size_t i = 0; i < n; ++i) x.data()[i] = 1;
    const View<int> part = x.view().first(10);
    CHECK(element_unchecked(part, 10) == 1);  // within the array, so that it is harmless
    const Reports reports;
    std::thread([part] { part[10] = 2; }).join();
    CHECK(reports.count() == 1);
    launch_unchecked(here.stream, part, 11);
    CHECK(!failure_of(here.stream));
}
