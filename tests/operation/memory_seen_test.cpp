// Notifications about memory.
#include "kernel_launches.hpp"
#include "operation/watch.hpp"

using namespace heddle_test;

TEST_CASE("an access names the allocation, the argument and the element") {
    const Stream s(test_device());
    Array<double> x = zeros<double>(s, 10);
    Watch watch;
    launch(s, [] HEDDLE_FN(std::size_t i, int, View<double> v) { v[i] = 1; }, dim(10), 1, x);
    const Seen launched = watch.take_only(OpKind::launch);
    REQUIRE(launched.accesses.size() == 1);
    CHECK(launched.accesses[0].argument == 1);
    CHECK(launched.accesses[0].element == sizeof(double));
    CHECK(launched.accesses[0].allocation != 0);
    CHECK(launched.accesses[0].mode == AccessMode::read_write);
    s.synchronize();
}

TEST_CASE("allocating and freeing name the memory, and memory used again has another name") {
    const Stream s(test_device());
    Watch watch;
    Array<int> x = empty<int>(s, 1000);
    const Seen made = watch.take_only(OpKind::allocate);
    REQUIRE(made.accesses.size() == 1);
    CHECK(made.accesses[0].data == x.data());
    CHECK(made.accesses[0].bytes == 4000);
    CHECK(made.op.device == test_device());
    x.reset();
    const Seen freed = watch.take_only(OpKind::free);
    REQUIRE(freed.accesses.size() == 1);
    CHECK(freed.accesses[0].allocation == made.accesses[0].allocation);
    x = empty<int>(s, 1000);
    CHECK(watch.take_only(OpKind::allocate).accesses[0].allocation != made.accesses[0].allocation);
}

TEST_CASE("a copy of rows is described by its rows, not by its hull") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100), y = zeros<int>(s, 100);
    Watch watch;
    copy_2d(s, View2D(x.view(), 10, 3, 10), View2D(y.view(), 10, 3, 10));
    const Seen copied = watch.take_only(OpKind::copy);
    REQUIRE(copied.accesses.size() == 2);
    for (const OpAccess& access : copied.accesses) {
        CHECK(access.rows == 10);
        CHECK(access.bytes == 3 * sizeof(int));
        CHECK(access.pitch == 10 * sizeof(int));
    }
    CHECK(copied.op.bytes == 10 * 3 * sizeof(int));
    s.synchronize();
}

TEST_CASE("a copy with pageable memory tells what the host itself accesses") {
    const Stream s(test_device());
    std::vector<int> host(10);
    Array<int> x = zeros<int>(s, 10);
    Watch watch;
    copy(s, host, x);
    const Seen access = watch.take_only(OpKind::host_access);
    REQUIRE(access.accesses.size() == 1);
    CHECK(access.accesses[0].data == host.data());
    CHECK(access.accesses[0].mode == AccessMode::write);
}

TEST_CASE("a host function can say which memory it uses") {
    const Stream s(test_device());
    Array<int> x = pinned<int>(10), y = pinned<int>(20);
    const auto nothing = [] {};
    Watch watch;
    const unsigned line = __LINE__ + 1;
    launch_host(s, nothing, reads(x), writes(y.view().first(5)));
    const Seen declared = watch.take_only(OpKind::host_function);
    CHECK(declared.line == line);
    REQUIRE(declared.accesses.size() == 2);
    CHECK(declared.accesses[0].data == x.view().data());
    CHECK(declared.accesses[0].mode == AccessMode::read);
    CHECK(declared.accesses[0].argument == -1);
    CHECK(declared.accesses[1].bytes == 5 * sizeof(int));
    CHECK(declared.accesses[1].writes());
    s.synchronize();
}

TEST_CASE("an array that a host function uses is freed after it") {
    const Stream s(test_device());
    Gate gate(s);
    Array<int> x = pinned<int>(1000);
    x[0] = 42;
    int seen = 0;
    launch_host(s, [&seen, data = x.data()] { seen = data[0]; }, reads(x));
    x.reset();
    std::vector<Array<int>> others;  // if the memory were free, these would reuse it
    for (int i = 0; i < 4; ++i) {
        others.push_back(pinned<int>(1000));
        others.back()[0] = 7;
    }
    gate.open();
    s.synchronize();
    CHECK(seen == 42);
}

TEST_CASE("a host function refuses an array that is gone") {
    const Stream s(test_device());
    View<int> gone;
    {
        const Array<int> x = pinned<int>(10);
        gone = View<int>(const_cast<Array<int>&>(x).view());
    }
    CHECK_THROWS_AS(launch_host(s, [] {}, reads(gone)), UsageError);
}

TEST_CASE("the host declares what it accesses itself") {
    Array<int> x = pinned<int>(10);
    Watch watch;
    const unsigned line = __LINE__ + 1;
    for (int& value : on_host(x)) value = 1;
    const Seen written = watch.take_only(OpKind::host_access);
    CHECK(written.line == line);
    REQUIRE(written.accesses.size() == 1);
    CHECK(written.accesses[0].data == x.data());
    CHECK(written.accesses[0].writes());
    CHECK(on_host(std::as_const(x)).size() == 10);
    CHECK_FALSE(watch.take_only(OpKind::host_access).accesses[0].writes());
}

TEST_CASE("memory that a capture allocates is told as captured") {
    const Stream s(test_device());
    Watch watch;
    Graph graph;
    {
        ScopedCapture capture(s);
        Array<int> x = empty<int>(s, 10);
        fill(s, x, 1);
        graph = capture.end();
    }
    const Seen made = watch.take_only(OpKind::allocate);
    CHECK(made.op.mode == OpMode::captured);
    CHECK(made.op.recording != 0);
}

namespace {
struct ReadsRows {
    HEDDLE_FN void operator()(std::size_t, View2D<const int>) const {}
};
}  // namespace

TEST_CASE("a kernel that takes a read-only rectangle is seen to read, whatever its argument is") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 100);
    Watch watch;
    launch(s, ReadsRows{}, dim(1), View2D<int>(x, 10, 3, 10));
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 1);
    CHECK(seen.accesses[0].mode == AccessMode::read);
    CHECK(seen.accesses[0].rows == 10);
    s.synchronize();
}
