// The checker and batches that are never submitted, on the device under test.
#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "kernel_launches.hpp"
#include "recording/spoil.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {
constexpr std::size_t size = 100;
}

TEST_CASE("batch_abandoned_by_an_exception") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, size), sent = zeros<int>(a, size);
    a.synchronize();
    Checked checked({.strict = true});
    Batch batch({.on_cpu = true});
    const auto record = [&](bool fails) {
        ScopedBatch scope(batch, a);
        launch(a, Add{}, dim(size), sent, 1);
        scope.flush();
        launch(a, Add{}, dim(size), x, 1);
        if (fails) spoil_batch(a);
        scope.end();
    };
    SECTION("the failure abandons what was not sent") {
        CHECK_THROWS_AS(record(true), UsageError);
        wait_unseen(a);
        launch(b, Add{}, dim(size), x, 1);
        CHECK(checked.races().empty());
        launch(b, Add{}, dim(size), sent, 1);
        CHECK(checked.races().size() == 1);
        a.synchronize();
        CHECK(to_host(b, x) == Ints(size, 1));
    }
    SECTION("without a failure it runs") {
        record(false);
        wait_unseen(a);
        launch(b, Add{}, dim(size), x, 1);
        CHECK(checked.races().size() == 1);
        b.synchronize();
        CHECK(to_host(b, x) == Ints(size, 2));
    }
}

TEST_CASE("a batch whose first stream is destroyed while sending fails is abandoned") {
    const Drained drained;
    const Stream b(test_device());
    Array<int> x = zeros<int>(b, size);
    b.synchronize();
    const Reports reports;
    Checked checked({.strict = true});
    Batch batch({.on_cpu = true});
    {
        Stream a(test_device());
        ScopedBatch scope(batch, a);
        launch(a, Add{}, dim(size), x, 1);
        spoil_batch(a);
        a = Stream(test_device());  // the old stream's end submits the batch; this fails
        launch(b, Add{}, dim(size), x, 1);
        CHECK(checked.races().empty());
    }
    CHECK(reports.count() == 1);
    b.synchronize();
    CHECK(to_host(b, x) == Ints(size, 1));
}
