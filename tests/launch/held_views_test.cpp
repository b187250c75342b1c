// Kernel objects and arguments that hold views, which views() declares.
#include "check/checked_streams.hpp"
#include "operation/watch.hpp"

#include <tuple>

using namespace heddle_test;

namespace heddle_test {

/// A class that is passed as an argument.
struct Fields {
    View<const int> from;
    View<int> to;
    int factor = 1;
    auto views() const { return std::tuple(from, to); }
};

/// to[i] += from[i] * factor + more[i]
struct AddFields {
    HEDDLE_FN void operator()(std::size_t i, Fields f, View<const int> more) const {
        f.to[i] += f.from[i] * f.factor + more[i];
    }
};

/// A kernel with members: to[i] += from[i] + by
struct AddHeld {
    View<const int> from;
    View<int> to;
    auto views() const { return std::tie(from, to); }
    HEDDLE_FN void operator()(std::size_t i, int by) const { to[i] += from[i] + by; }
};

/// A class whose function views() does not return the views that an object holds.
struct Camera {
    int count = 2;
    int views() const { return count; }
};
struct TakesCamera {
    HEDDLE_FN void operator()(std::size_t i, Camera camera, View<int> to) const {
        to[i] = camera.count;
    }
};

}  // namespace heddle_test

namespace {

struct Three {
    const Stream s{test_device()};
    Array<int> x = full<int>(s, 10, 2), y = full<int>(s, 10, 3), z = full<int>(s, 10, 4);
    Fields fields(int factor) { return {x, y, factor}; }
};

}  // namespace

TEST_CASE("a kernel's argument says which views it holds") {
    Three t;
    Watch watch;
    launch(t.s, AddFields{}, dim(10), t.fields(5), t.z);
    const std::vector<OpAccess> accesses = watch.take_only(OpKind::launch).accesses;
    REQUIRE(accesses.size() == 3);
    CHECK(accesses[0].data == t.x.data());
    CHECK(accesses[0].mode == AccessMode::read);
    CHECK(accesses[0].argument == 0);
    CHECK(accesses[1].data == t.y.data());
    CHECK(accesses[1].mode == AccessMode::read_write);
    CHECK(accesses[1].argument == 0);
    CHECK(accesses[2].data == t.z.data());
    CHECK(accesses[2].argument == 1);
    CHECK(to_host(t.s, t.y) == Ints(10, 3 + 2 * 5 + 4));
}

TEST_CASE("a kernel says which views it holds itself") {
    Three t;
    Watch watch;
    launch(t.s, AddHeld{t.x, t.y}, dim(10), 7);
    const std::vector<OpAccess> accesses = watch.take_only(OpKind::launch).accesses;
    REQUIRE(accesses.size() == 2);
    CHECK(accesses[0].mode == AccessMode::read);
    CHECK(accesses[1].mode == AccessMode::read_write);
    CHECK(accesses[1].argument == -1);
    CHECK(to_host(t.s, t.y) == Ints(10, 3 + 2 + 7));
}

TEST_CASE("views() of another meaning is the program's own affair") {
    Three t;
    launch(t.s, TakesCamera{}, dim(10), Camera{8}, t.x);
    CHECK(to_host(t.s, t.x) == Ints(10, 8));
}

TEST_CASE("an array that a kernel holds is freed after it") {
    const Stream s(test_device()), other(test_device());
    Array<int> sum = ready_zeros<int>(other, 1000);
    Gate gate(s);
    Array<int> x = full<int>(other, 1000, 5);
    s.wait_stream(other);
    if (GENERATE(true, false)) launch(s, AddHeld{x, sum}, dim(1000), 0);
    else launch(s, AddFields{}, dim(1000), Fields{x, sum, 0}, x);
    x.reset();
    std::vector<Array<int>> others;  // if the memory were free, these would get it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, 1000, 100));
    gate.open();
    CHECK(to_host(s, sum) == Ints(1000, 5));
    other.synchronize();
}

TEST_CASE("an array that is gone is refused in a class, too") {
    Three t;
    const Fields fields = t.fields(1);
    const AddHeld held{t.x, t.y};
    t.s.synchronize();
    t.x.reset();
    CHECK_THROWS_AS(launch(t.s, AddFields{}, dim(10), fields, t.z), UsageError);
    CHECK_THROWS_AS(launch(t.s, held, dim(10), 1), UsageError);
    CHECK_THROWS_AS(prepare(test_device(), held, dim(10), 1), UsageError);
    CHECK_THROWS_AS(kernel_node(test_device(), AddFields{}, dim(10), fields, t.z), UsageError);
}

TEST_CASE("prepared launches, nodes, captures and batches know the views of classes") {
    Three t;
    auto add = prepare(test_device(), AddFields{}, dim(10), t.fields(1), t.z);
    add.launch(t.s);  // y: 3 + 2 + 4
    t.s.synchronize();
    t.x.reset();
    CHECK_THROWS_AS(add.launch(t.s), UsageError);
    t.x = full<int>(t.s, 10, 20);  // may be at the same address
    t.s.synchronize();
    add.set<0>(t.fields(1));
    add.launch(t.s);  // y: 9 + 20 + 4
    CHECK(to_host(t.s, t.y) == Ints(10, 33));

    Graph graph = capture(t.s, [&] { launch(t.s, AddHeld{t.x, t.y}, dim(10), 1); });
    graph.launch(t.s);
    CHECK(to_host(t.s, t.y) == Ints(10, 54));
    Batch batch({.on_cpu = true});
    const ScopedStream in(t.s);
    for (int i = 0; i < 3; ++i) batch.run([&] { launch(AddHeld{t.x, t.y}, dim(10), i); });
    CHECK(to_host(t.s, t.y) == Ints(10, 54 + 60 + 3));
    t.s.synchronize();
    t.x.reset();
    CHECK_THROWS_AS(graph.launch(t.s), UsageError);
}

TEST_CASE("device: races through the views of classes are found") {
    using check::RaceKind;
    CheckedRun s;
    launch(s.a, AddHeld{s.y, s.x}, dim(size), 1);
    if (GENERATE(true, false)) {
        s.b.wait_stream(s.a);
        launch(s.b, AddFields{}, dim(size), Fields{s.x, s.z, 1}, s.y);
        return s.checked.expect_silence();
    }
    wait_unseen(s.a);
    launch(s.b, AddFields{}, dim(size), Fields{s.x, s.z, 1}, s.y);
    const check::Race race = s.checked.expect(RaceKind::read_after_write);
    CHECK(race.first.argument == -1);
    CHECK(race.second.argument == 0);
}
