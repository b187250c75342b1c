// from_dlpack() and rows_from_dlpack(): memory of other libraries' tensors.
#include "kernels.hpp"
#include "memory/foreign_tensor.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <thread>

using namespace heddle_test;

namespace {

constexpr std::size_t n = Foreign::elements;

}  // namespace

TEST_CASE("an array of a tensor is the tensor's memory") {
    Foreign foreign;
    const Stream s(cpu_device());
    {
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        CHECK((x.size() == n && x.data() == foreign.data()));
        CHECK((x.device() == s.device() && x.kind() == MemoryKind::device));
        launch(s, Add{}, dim(n), x, 4);
        CHECK(to_host(s, x) == Ints(n, 5));
        CHECK(foreign.ended() == 0);
    }
    finish_adopted();
    CHECK(foreign.ended() == 1);
    CHECK((foreign.plain[n - 1] == 5 && foreign.plain[n] == 1));
}

TEST_CASE("an unversioned tensor is taken the same way") {
    Foreign foreign;
    const Stream s(cpu_device());
    CHECK(to_host(s, from_dlpack<int>(s, foreign.unversioned())) == Ints(n, 1));
    finish_adopted();
    CHECK(foreign.ended() == 1);
}

TEST_CASE("a deleter is called once the work on its memory is done, by another thread") {
    Foreign foreign;
    const Stream s(cpu_device());
    DrainedGate gate(s);
    {
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        launch(s, Set{}, dim(n), x, 7);
    }
    CHECK(foreign.ended() == 0);
    gate.open();
    finish_adopted();
    CHECK(foreign.ended() == 1);
    CHECK(foreign.plain[n - 1] == 7);
    CHECK(foreign.ended_by() != std::this_thread::get_id());
}

TEST_CASE("the importing stream counts as a user from the beginning") {
    Foreign foreign;
    const Stream s(cpu_device());
    DrainedGate gate(s);
    from_dlpack<int>(s, foreign.tensor()).reset();
    CHECK(foreign.ended() == 0);  // the producer's work may be pending on this stream
    gate.open();
    finish_adopted();
    CHECK(foreign.ended() == 1);
}

TEST_CASE("a tensor begins at its byte_offset, and null strides mean contiguous elements") {
    Foreign foreign;
    foreign.byte_offset = 8;
    foreign.strides.clear();
    const Stream s(cpu_device());
    Array<int> x = from_dlpack<int>(s, foreign.tensor());
    CHECK(x.data() == foreign.data() + 2);
    CHECK(x.size() == n);
}

TEST_CASE("strides of dimensions of one element mean nothing") {
    Foreign foreign;
    foreign.shape = {1, 3, 1, 4};
    foreign.strides = {-7, 4, 99, 1};
    const Stream s(cpu_device());
    CHECK(from_dlpack<int>(s, foreign.tensor()).size() == n);
    foreign.shape = {};
    CHECK(from_dlpack<int>(s, foreign.tensor()).size() == 1);
    CHECK(rows_from_dlpack<int>(s, foreign.tensor()).view().rows() == 1);
}

TEST_CASE("a tensor without elements is an array without elements") {
    Foreign foreign;
    foreign.shape = {5, 0, 3};
    foreign.strides = {1, 2, 3};
    foreign.plain.clear();  // so the tensor has no address either
    const Stream s(cpu_device());
    Array<int> x = from_dlpack<int>(s, foreign.tensor());
    CHECK(foreign.ended() == 1);
    CHECK((x.empty() && x.device() == s.device()));
    launch(s, Set{}, dim(0), x, 1);  // owns empty memory, unlike a moved-from array
    CHECK(rows_from_dlpack<int>(s, foreign.tensor()).view().rows() == 0);
}

TEST_CASE("rows of a tensor may be apart") {
    Foreign foreign;
    foreign.strides = {10, 1};
    const Stream s(cpu_device());
    {
        const DlpackRows<int> x = rows_from_dlpack<int>(s, foreign.tensor());
        CHECK((x.view().rows() == 3 && x.view().columns() == 4 && x.view().pitch() == 10));
        fill(s, x.view(), 5);
        s.synchronize();
    }
    CHECK((foreign.plain[3] == 5 && foreign.plain[4] == 1 && foreign.plain[23] == 5));
    finish_adopted();
    CHECK(foreign.ended() == 1);
    foreign.shape = {2, 3, 4};
    foreign.strides = {30, 10, 1};
    CHECK(rows_from_dlpack<int>(s, foreign.tensor()).view().rows() == 6);
    foreign.strides = {31, 10, 1};
    CHECK(mentions(error_of([&] { (void)rows_from_dlpack<int>(s, foreign.tensor()); }),
                   "contiguous rows at equal distances"));
    foreign.strides = {30, 10, 2};
    CHECK(error_of([&] { (void)rows_from_dlpack<int>(s, foreign.tensor()); }));
}

TEST_CASE("a read-only tensor is rows of const elements") {
    Foreign foreign;
    foreign.flags = 1;
    const Stream s(cpu_device());
    const DlpackRows<const int> x = rows_from_dlpack<const int>(s, foreign.tensor());
    Array<int> y(s, 4);
    copy(s, y, x.view().row(2));
    CHECK(to_host(s, y) == Ints(4, 1));
}

TEST_CASE("a tensor of an array comes back as a share of the array") {
    const Stream s(cpu_device());
    Array<int> x = full<int>(s, n, 3);
    Array<int> back = from_dlpack<int>(s, to_dlpack(x).release());
    CHECK(back.data() == x.data());
    const View<int> there = x;
    x.reset();
    fill(s, there, 4);
    CHECK(to_host(s, back) == Ints(n, 4));
    const DlpackRows<int> part = rows_from_dlpack<int>(s, to_dlpack(back.subview(2, 3)).release());
    CHECK(part.view().data() == back.data() + 2);
    CHECK(mentions(
        error_of([&] { (void)from_dlpack<int>(s, to_dlpack(back.subview(2, 3)).release()); }),
        "only a part of an existing array"));
    back.reset();
    CHECK_FALSE(error_of([&] { fill(s, there, 5); }));  // the rows share ownership
}

TEST_CASE("one tensor twice is one memory with two owners") {
    Foreign foreign;
    const Stream s(cpu_device());
    Array<int> x = from_dlpack<int>(s, foreign.tensor());
    Array<int> y = from_dlpack<int>(s, foreign.tensor());
    CHECK(foreign.ended() == 1);  // only the second tensor has been deleted
    x.reset();
    finish_adopted();
    CHECK(foreign.ended() == 1);
    launch(s, Set{}, dim(n), y, 7);
    CHECK(to_host(s, y) == Ints(n, 7));
    Array<int> z = from_dlpack<int>(s, to_dlpack(y).release());
    y.reset();
    z.reset();
    finish_adopted();
    CHECK(foreign.ended() == 2);
}

TEST_CASE("a tensor ends after failed work, too") {
    Foreign foreign;
    const Stream s(cpu_device());
    {
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        poison(s);
        launch(s, Set{}, dim(n), x, 7);
    }
    finish_adopted();
    CHECK(foreign.ended() == 1);
    CHECK(foreign.plain[0] == 1);
    s.clear_error();
}

TEST_CASE("a tensor is kept by a graph that uses it") {
    Foreign foreign;
    const Stream s(cpu_device());
    {
        Graph graph;
        {
            Array<int> x = from_dlpack<int>(s, foreign.tensor());
            ScopedCapture capture(s);
            launch(s, Add{}, dim(n), x, 1);
            graph = capture.end();
            graph.launch(s);
            s.synchronize();
        }
        CHECK(foreign.plain[0] == 2);
    }
    finish_adopted();
    CHECK(foreign.ended() == 1);
}

TEST_CASE("a tensor may be taken in a capture and in a batch") {
    Foreign foreign;
    const Stream s(cpu_device());
    {
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        Batch steps;
        const ScopedBatch batch(steps, s);
        Array<int> y = from_dlpack<int>(s, foreign.tensor());
        launch(s, Add{}, dim(n), y, 1);
        x.reset();
    }
    finish_adopted();
    CHECK((foreign.ended() == 2 && foreign.plain[0] == 2));
    {
        ScopedCapture capture(s);
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        launch(s, Add{}, dim(n), x, 1);
        Graph graph = capture.end();
        graph.launch(s);
        s.synchronize();
    }
    finish_adopted();
    CHECK((foreign.ended() == 3 && foreign.plain[0] == 3));
}

TEST_CASE("a tensor by data ends after the last operation on it") {
    Foreign foreign;
    {
        DataOrder order(cpu_device());
        const Stream s(cpu_device());
        Array<int> x = from_dlpack<int>(s, foreign.tensor());
        for (int i = 0; i < 4; ++i) launch(order, Add{}, dim(n), x, 1);
    }
    finish_adopted();
    CHECK((foreign.ended() == 1 && foreign.plain[0] == 5));
}

TEST_CASE("a stream by Python's number") {
    CHECK(dlpack_stream(test_device(), -1).device() == test_device());
    CHECK(mentions(error_of([] { (void)dlpack_stream(cpu_device(), 1); }), "pass -1 (None)"));
    if (test_device().is_cpu()) return;
    CHECK(mentions(error_of([] { (void)dlpack_stream(test_device(), 0); }), "ambiguous"));
    CHECK(dlpack_stream(test_device(), 1) == dlpack_stream(test_device(), 1));
}
