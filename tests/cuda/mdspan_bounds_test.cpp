// Checks of indices (docs/adr/0073) in mdspans with a bounds_accessor.
#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 1
#include "launch/bounds_kernels.hpp"

#include <heddle/with/mdspan.hpp>

#include <cuda/std/mdspan>
#include <cuda/std/span>

using namespace heddle_test;

namespace heddle_test {

template <class T>
using Checked2 =
    cuda::std::mdspan<T, cuda::std::dextents<int, 2>, cuda::std::layout_right, bounds_accessor<T>>;

struct SetChecked {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, Checked2<int> m, int down) const {
        m(static_cast<int>(y) + down, static_cast<int>(x)) = 1;
    }
};
struct ReadChecked {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View<int> to, Checked2<const int> from,
                              int right) const {
        to[0] = from(static_cast<int>(y), static_cast<int>(x) + right);
    }
};
/// Makes a view of a span, which cannot check indices itself.
struct SetViewOfSpan {
    HEDDLE_FN void operator()(std::size_t i, cuda::std::span<int> span) const {
        const View<int> checked(span.data(), span.size());
        checked[i + 1] = 1;
    }
};

}  // namespace heddle_test

TEST_CASE("bounds: an element outside an mdspan fails the work, and names the argument") {
    Here here;
    Array<int> x = zeros<int>(100), y = zeros<int>(1);
    const auto m = spanning<Checked2<int>>(x, 4, 5);  // 20 of 100 elements
    SECTION("behind the end") {
        launch(SetChecked{}, dim(m), m, 1);
        require_bad(here.stream, 20, 20, 1);
        CHECK(to_host(x)[20] == 0);
    }
    SECTION("before the beginning") {
        launch(SetChecked{}, dim(1, 1), m, -1);
        require_bad(here.stream, static_cast<std::size_t>(-5), 20, 1);
    }
    SECTION("of const elements, in another argument") {
        launch(ReadChecked{}, dim(1, 4), y, spanning<Checked2<const int>>(x, 4, 5), 5);
        require_bad(here.stream, 20, 20, 2);
    }
    SECTION("not: an index beyond its extent whose element is inside") {
        launch(ReadChecked{}, dim(1, 3), y, m, 5);
        CHECK(!failure_of(here.stream));
    }
    SECTION("by a view of a span") {
        launch(SetViewOfSpan{}, dim(5), x.first(5));
        require_bad(here.stream, 5, 5, 1);
    }
}

TEST_CASE("bounds: an mdspan without known memory checks nothing") {
    Here here;
    Array<int> x = zeros<int>(100);
    const Checked2<int> m(x.view().data(), 4, 5);
    launch(SetChecked{}, dim(m), m, 1);
    CHECK(!failure_of(here.stream));
    CHECK(to_host(x)[24] == 1);
}
