// Prepared launches: they are prepared once and launched many times.
#include "kernels.hpp"
#include "support.hpp"

#include <optional>
#include <utility>
#include <vector>

using namespace heddle_test;

TEST_CASE("a prepared launch does what the launch would do, as often as it is enqueued") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100);
    auto add = prepare(test_device(), Add{}, dim(100), x, 3);
    CHECK(add.device() == test_device());
    for (int i = 0; i < 10; ++i) add.launch(s);
    launch(s, add);
    CHECK(to_host(s, x) == Ints(100, 33));
}

TEST_CASE("a prepared launch without a stream runs on the current one") {
    const Stream s(test_device());
    const ScopedStream in{s};
    Array<int> x = zeros<int>(100);
    auto add = prepare(Add{}, dim(100), x, 3);
    add.launch();
    launch(add);
    CHECK(to_host(s, x) == Ints(100, 6));
}

TEST_CASE("single arguments and the extents of a prepared launch change for its next launch") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100), y = zeros<int>(s, 100);
    auto add = prepare(test_device(), Add{}, dim(100), x, 1);
    add.launch(s);
    add.set<1>(10).launch(s);
    CHECK(to_host(s, x) == Ints(100, 11));
    add.set<0>(y).launch(s);
    CHECK(to_host(s, x) == Ints(100, 11));
    CHECK(to_host(s, y) == Ints(100, 10));
    add.dim(dim(50)).launch(s);
    Ints expected(100, 10);
    std::fill_n(expected.begin(), 50, 20);
    CHECK(to_host(s, y) == expected);
}

TEST_CASE("a prepared launch that waits its turn keeps the arguments that it was enqueued with") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    auto add = prepare(test_device(), Add{}, dim(10), x, 1);
    add.launch(s);
    s.synchronize();
    gate.hold(s);
    add.launch(s);
    add.set<1>(100).launch(s);
    gate.open();
    CHECK(to_host(s, x) == Ints(10, 102));
}

TEST_CASE("a prepared launch refuses arrays that are gone and streams of other devices") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    auto add = prepare(test_device(), Add{}, dim(10), x, 1);
    add.launch(s);
    x.reset();
    CHECK_THROWS_AS(add.launch(s), UsageError);
    CHECK_THROWS_AS(prepare(test_device(), Add{}, dim(10), x, 1), UsageError);
    s.synchronize();
}

namespace {
/// Makes arrays on the stream until one has this record, which a freed array had before. Usually
/// the first array has it. Other threads may make arrays, too, and get the record.
std::optional<Array<int>> array_in(const detail::Block* record, StreamRef s) {
    std::vector<Array<int>> others;
    for (int i = 0; i < 1000; ++i) {
        others.push_back(zeros<int>(s, 10));
        if (detail::Access::block(others.back()) == record) return std::move(others.back());
    }
    return std::nullopt;
}
}  // namespace

TEST_CASE("a prepared launch refuses an array that is gone when another one has its record") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    const detail::Block* const record = detail::Access::block(x);
    auto add = prepare(test_device(), Add{}, dim(10), x, 1);
    add.launch(s);
    s.synchronize();
    x.reset();
    const std::optional<Array<int>> other = array_in(record, s);
    REQUIRE(other);
    const OpCounter counted;
    SECTION("launched") { CHECK_THROWS_AS(add.launch(s), UsageError); }
    SECTION("captured") {
        (void)capture(s, [&] { CHECK_THROWS_AS(add.launch(s), UsageError); });
    }
    SECTION("in a batch") {
        Batch batch;
        const ScopedBatch in(batch, s);
        CHECK_THROWS_AS(add.launch(s), UsageError);
    }
    SECTION("after another argument has changed") {
        add.set<1>(2).dim(dim(5));
        CHECK_THROWS_AS(add.launch(s), UsageError);
    }
    CHECK(counted.stats().launches == 0);
    CHECK(to_host(s, *other) == Ints(10, 0));
}

TEST_CASE("an argument may change to an array in the record of another argument's array") {
    const Stream s(test_device());
    const Array<int> x = full<int>(s, 10, 1);
    Array<int> y = zeros<int>(s, 10);
    const detail::Block* const record = detail::Access::block(y);
    auto add = prepare(test_device(), AddTo{}, dim(10), x, y);
    s.synchronize();
    y.reset();
    const std::optional<Array<int>> z = array_in(record, s);
    REQUIRE(z);
    add.set<0>(z->view());  // z is unrelated to y
    CHECK_THROWS_AS(add.launch(s), UsageError);
    Array<int> w = full<int>(s, 10, 3);
    add.set<1>(w);
    add.launch(s);
    CHECK(to_host(s, w) == Ints(10, 3));
    add.set<0>(x.view());
    add.launch(s);
    CHECK(to_host(s, w) == Ints(10, 4));
}

TEST_CASE("an argument of a prepared launch may change after another one's array is gone, and "
          "launches wait "
          "for that one") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, 10, 1), y = zeros<int>(s, 10), other = full<int>(s, 10, 5);
    auto add = prepare(test_device(), AddTo{}, dim(10), x, y);
    add.launch(s);
    s.synchronize();
    y.reset();
    add.set<0>(other);
    CHECK_THROWS_AS(add.launch(s), UsageError);
    Array<int> z = zeros<int>(s, 10);
    add.set<1>(z).launch(s);
    CHECK(to_host(s, z) == Ints(10, 5));
}

TEST_CASE("an argument that a prepared launch refuses leaves the one before in its place") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    auto add = prepare(test_device(), Add{}, dim(10), x, 1);
    Array<int> gone = zeros<int>(s, 10);
    const View<int> stale = gone;
    gone.reset();
    CHECK_THROWS_AS(add.set<0>(Array<int>()), UsageError);
    CHECK_THROWS_AS(add.set<0>(stale), UsageError);
    add.launch(s);
    CHECK(to_host(s, x) == Ints(10, 1));
}

TEST_CASE("a prepared launch that was moved from says so, and where it is launched") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    auto add = prepare(test_device(), Add{}, dim(10), x, 1);
    auto kept = std::move(add);
    kept.launch(s);
    const auto refused = [](const std::string& call, const auto& function) {
        const Error error = thrown_by(function);
        CHECK(error.call() == call);
        CHECK_THAT(error.what(), contains("this PreparedLaunch was moved from") &&
                                     contains("prepared_launch_test.cpp"));
    };
    refused("launch", [&] { add.launch(s); });  // NOLINT(bugprone-use-after-move)
    refused("launch", [&] { add.launch(); });   // NOLINT(bugprone-use-after-move)
    refused("set", [&] { add.set<1>(2); });     // NOLINT(bugprone-use-after-move)
    refused("dim", [&] { add.dim(dim(5)); });   // NOLINT(bugprone-use-after-move)
    CHECK(to_host(s, x) == Ints(10, 1));
}
