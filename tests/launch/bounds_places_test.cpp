// Checks of indices in graphs, batches, orders by data, host functions and on the host. Other files
// of the same program are compiled without these checks.
#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 1
#include "launch/bounds.hpp"
#include "launch/bounds_kernels.hpp"

#include <heddle/by_data.hpp>

#include <string>
#include <thread>

using namespace heddle_test;

namespace {
constexpr std::size_t n = 1000;
}  // namespace

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
    DataOrder order;
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
    CHECK(element_unchecked(part, 10) == 1);  // beyond the view, but within the array, so harmless
    const Reports reports;
    std::thread([part] { part[10] = 2; }).join();
    CHECK(reports.count() == 1);
    launch_unchecked(here.stream, part, 11);
    CHECK(!failure_of(here.stream));
}
