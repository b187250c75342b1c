// A DataOrder recognises arrays whose addresses kernels hold, in launches and prepared
// launches.
#include "noted.hpp"

#include <algorithm>

using namespace heddle_test;
using namespace heddle_test::by_data;

namespace {

/// A kernel that holds addresses, and no view. Copies from the first address to the tenth.
struct Addresses {
    int* held[10];
    HEDDLE_FN void operator()(std::size_t i) const { held[9][i] = held[0][i]; }
    HEDDLE_FN void operator()(std::size_t i, View<const int>) const { (*this)(i); }
};

Addresses addresses(Array<int>& from, Array<int>& to) {
    Addresses all{};
    std::ranges::fill(all.held, from.data());
    all.held[9] = to.data();
    return all;
}

}  // namespace

TEST_CASE("by data: addresses that a kernel holds count, launched plainly and prepared",
          "[by_data]") {
    for (const bool is_prepared : {false, true}) {
        const Here here;
        Array<int> x = array(), y = array(), z = array();
        DrainedGate gate;
        Noted on(3);
        const Addresses kernel = addresses(x, y);
        auto prepared = prepare(test_device(), kernel, dim(n), View<const int>(z));
        on.order.task({writes(x)}, [&](StreamRef s) { gate.hold(s); });
        launch(on.order, Set{}, dim(n), x, 7);
        on.order.task({writes(y), writes(z)}, [](StreamRef) {});
        if (is_prepared) launch(on.order, prepared);
        else launch(on.order, kernel, dim(n), View<const int>(z));
        on.note("read", reads(y));  // y is at the tenth address
        CHECK(on.has_seen_nothing());
        gate.open();
        CHECK(to_host(on.order, y) == constant(7));
    }
}

TEST_CASE("by data: a kernel that holds addresses alone is refused, launched plainly and prepared",
          "[by_data]") {
    const Here here;
    Array<int> x = array(), y = array();
    const Drained drained;
    Noted on(3);
    const Addresses kernel = addresses(x, y);
    auto prepared = prepare(test_device(), kernel, dim(n));
    const std::string said = "no view or declaration";
    CHECK(mentions(error_of([&] { launch(on.order, kernel, dim(n)); }), said));
    CHECK(mentions(error_of([&] { launch(on.order, prepared); }), said));
    CHECK(on.order.stats().operations == 0);
}

TEST_CASE("by data: an array that a kernel has by address has the stream among its users",
          "[by_data]") {
    for (const bool is_prepared : {false, true}) {
        const Here here;
        Array<int> x = array(), y = array(), z = array();
        DrainedGate gate;
        Noted on(3), other(3);
        const Addresses kernel = addresses(x, y);
        auto prepared = prepare(test_device(), kernel, dim(n), View<const int>(z));
        on.order.task({writes(x)}, [&](StreamRef s) {
            gate.hold(s);
            launch(s, Set{}, dim(n), x, 7);
        });
        if (is_prepared) launch(on.order, prepared);
        else launch(on.order, kernel, dim(n), View<const int>(z));
        other.note("outside", reads(y));
        CHECK(other.has_seen_nothing());
        gate.open();
        CHECK(to_host(other.order, y) == constant(7));
    }
}
