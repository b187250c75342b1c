// Mdspans in recordings, prepared launches, orders by data and the checker.
#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "cuda/mdspans.cuh"

#include <heddle/by_data.hpp>

using namespace heddle_test;

TEST_CASE("mdspans: an array is freed after kernels that use it through an mdspan") {
    Fixture f;
    Gate gate(f.s);
    SECTION("by spanning()") {
        launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
               spanning<Matrix>(f.y, 3, 4));
    }
    SECTION("by the address") {
        launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4).mdspan(),
               spanning<Matrix>(f.y, 3, 4));
    }
    f.x.reset();
    const Stream other(test_device());
    std::vector<Array<int>> others;  // if the memory were free, these would get it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, 12, 1000));
    other.synchronize();
    gate.open();
    CHECK(to_host(f.s, f.y) == Ints(12, 5));
}

TEST_CASE("mdspans: prepared launches take other mdspans") {
    Fixture f;
    auto add = prepare(test_device(), AddOnes{}, dim(4, 3), spanning<Matrix>(f.x, 3, 4));
    add.launch(f.s);
    add.set<0>(spanning<Matrix>(f.y, 3, 4)).launch(f.s);
    add.dim(dim(2, 2)).set<0>(spanning<Matrix>(f.y, 2, 2)).launch(f.s);
    CHECK(to_host(f.s, f.x) == Ints(12, 6));
    CHECK(to_host(f.s, f.y) == Ints{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1});
    f.y.reset();
    CHECK(error_of([&] { add.launch(f.s); }));
}

TEST_CASE("mdspans: graphs, captures and batches") {
    Fixture f;
    SECTION("a node with changed arguments") {
        auto add = kernel_node(test_device(), AddOnes{}, dim(4, 3), spanning<Matrix>(f.x, 3, 4));
        Graph graph = add.build();
        graph.launch(f.s);
        add.args(spanning<Matrix>(f.y, 3, 4));
        graph.launch(f.s);
        add.args(spanning<Matrix>(f.y, 2, 2)).dim(dim(2, 2));
        graph.launch(f.s);
        CHECK(to_host(f.s, f.x) == Ints(12, 6));
        CHECK(to_host(f.s, f.y) == Ints{2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1});
        f.y.reset();
        CHECK(error_of([&] { graph.launch(f.s); }));
    }
    SECTION("a capture") {
        ScopedCapture capture(f.s);
        launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
               spanning<Matrix>(f.y, 3, 4));
        Graph graph = capture.end();
        for (int i = 0; i < 3; ++i) graph.launch(f.s);
        CHECK(to_host(f.s, f.y) == Ints(12, 15));
    }
    SECTION("a batch, replayed with other arrays") {
        Batch batch;
        for (int i = 0; i < 4; ++i) {
            const ScopedBatch in(batch, f.s);
            launch(f.s, AddOnes{}, dim(4, 3), spanning<Matrix>(i % 2 == 0 ? f.x : f.y, 3, 4));
            launch(f.s, AddOnes{}, dim(4, 3), spanning<Matrix>(f.y, 3, 4).mdspan());
        }
        CHECK(to_host(f.s, f.x) == Ints(12, 7));
        CHECK(to_host(f.s, f.y) == Ints(12, 6));
    }
}

TEST_CASE("mdspans: DataOrder orders kernels by their mdspans") {
    Fixture f;
    Array<int> z = ready_zeros<int>(f.s, 12);
    {
        DataOrder order(test_device());
        for (int i = 0; i < 20; ++i) {
            launch(order, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
                   spanning<Matrix>(f.y, 3, 4));
            launch(order, AddMatrix{}, dim(4, 3), spanning<Matrix>(f.y, 3, 4).mdspan(),
                   spanning<Matrix>(z, 3, 4));
            launch(order, AddOnes{}, dim(4, 3), spanning<Matrix>(f.x, 3, 4));
        }
        order.synchronize();
    }
    int x = 5, y = 0, sum = 0;
    for (int i = 0; i < 20; ++i) y += x++, sum += y;
    CHECK(to_host(f.s, z) == Ints(12, sum));
}

TEST_CASE("mdspans: the checker names the argument") {
    Fixture f;
    const Stream other(test_device(), {.name = "other"});
    other.synchronize();
    Checked checked;
    launch(f.s, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
           spanning<Matrix>(f.y, 3, 4));
    wait_unseen(f.s);
    launch(other, AddMatrix{}, dim(4, 3), spanning<ConstMatrix>(f.x, 3, 4),
           spanning<Matrix>(f.y, 3, 4).mdspan());
    wait_unseen(other);
    const check::Race race = checked.expect(check::RaceKind::write_after_write);
    INFO(race.text);
    CHECK(race.text.find("through its 2nd argument") != std::string::npos);
}

TEST_CASE("mdspans: a kernel that throws poisons the stream") {
    Fixture f;
    if (f.s.device().is_cuda()) return;
    launch(f.s, ThrowInGrid{}, dim(2, 2), spanning<Matrix>(f.y, 2, 2));
    CHECK(cause_of(thrown_by([&] { f.s.synchronize(); })) == "from the kernel");
}
