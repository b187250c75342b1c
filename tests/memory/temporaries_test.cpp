// Temporary arrays and views, which are destroyed at the end of the statement. Their memory is
// freed after the work.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {
Array<int> made(StreamRef stream, int value) { return full<int>(stream, 100, value); }
}  // namespace

TEST_CASE("arrays that are temporaries may be arguments of calls") {
    const Stream s(test_device()), other(test_device());
    const Drained drained;
    Array<int> sum = zeros<int>(s, 100);
    Array<int> on_host = pinned<int>(100);
    s.synchronize();
    Gate gate(s);
    // While the work is held, another stream allocates memory of the same size.
    const auto take_again = [&] { fill(other, empty<int>(other, 100), -1); };
    launch(s, AddTo{}, dim(100), made(s, 1), sum), take_again();
    launch(s, AddTo{}, dim(100), made(s, 10).view(), sum), take_again();
    launch(s, AddTo{}, dim(50), made(s, 100).first(50), sum.first(50)), take_again();
    launch(s, AddTo{}, dim(50), made(s, 1000).last(50), sum.last(50)), take_again();
    copy(s, on_host, made(s, 7)), take_again();
    copy(s, on_host.first(10), made(s, 8).subview(5, 10)), take_again();
    fill(s, made(s, 3).view(), 4), take_again();
    gate.open();
    s.synchronize(), other.synchronize();
    Ints expected(100, 111);
    std::fill(expected.begin() + 50, expected.end(), 1011);
    CHECK(to_host(s, sum) == expected);
    CHECK(on_host[9] == 8);
    CHECK(on_host[10] == 7);
    CHECK(to_host(s, made(s, 5)) == Ints(100, 5));
    CHECK(to_host(s, made(s, 6).first(3)) == Ints(3, 6));
}
