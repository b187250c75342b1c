// std::span as a kernel's parameter and argument. The kernels run on CPU devices only, because
// std::span does not work in kernels on GPUs. tests/cuda/mdspan_test.cpp tests cuda::std::span.
#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "operation/watch.hpp"

#include <heddle/by_data.hpp>

#include <span>
#include <utility>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 100;

/// y[i] += x[i]
struct AddSpans {
    void operator()(std::size_t i, std::span<const int> x, std::span<int> y) const { y[i] += x[i]; }
};
struct AddViews {
    void operator()(std::size_t i, View<const int> x, View<int> y) const { y[i] += x[i]; }
};
struct AddOne {
    void operator()(std::size_t i, const std::span<int>& x) const { x[i] += 1; }
};
struct ThrowBoom {
    void operator()(std::size_t, std::span<int> x) const {
        x[0] = 9;
        throw Boom("from the kernel");
    }
};
/// Both overloads take one argument, so no parameter types are known.
struct Overloaded {
    void operator()(std::size_t i, std::span<int> x) const { x[i] = 1; }
    void operator()(std::size_t i, float* x) const { x[i] = 1; }
};

struct Fixture {
    Fixture() { s.synchronize(); }
    Drained drained;
    Stream s{cpu_device(), {.name = "s"}};
    Array<int> x = full<int>(s, n, 5), y = zeros<int>(s, n);
};

template <class T> std::span<T> span_of(View<T> view) { return {view.data(), view.size()}; }
template <class T> std::span<const T> read_span_of(View<T> view) { return span_of(view); }

void check_access(const OpAccess& access, const Array<int>& array, std::size_t first,
                  std::size_t count, AccessMode mode, int argument) {
    CHECK(access.data == std::as_const(array).view().data() + first);
    CHECK(access.bytes == count * sizeof(int));
    CHECK(access.allocation == detail::allocation_of(detail::Access::block(array)));
    CHECK(access.allocation != 0);
    CHECK(access.mode == mode);
    CHECK(access.argument == argument);
    CHECK(access.element == sizeof(int));
}

/// Launches behind a gate, and frees the array `x` of the fixture. Then checks that the kernel has
/// added its elements to y.
template <class Use> void expect_freed_after(const Use& use) {
    Fixture f;
    Gate gate(f.s);
    use(f);
    f.x.reset();
    const Stream other(cpu_device());
    std::vector<Array<int>> others;  // if the memory were free, these would get it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, n, 1000));
    other.synchronize();
    gate.open();
    CHECK(to_host(f.s, f.y) == Ints(n, 5));
}

}  // namespace

TEST_CASE("spans: an array or view passed for a std::span is tracked as for a View") {
    Fixture f;
    Watch watch;
    SECTION("arrays") {
        launch(f.s, AddSpans{}, dim(n), f.x, f.y);
        const Seen seen = watch.take_only(OpKind::launch);
        REQUIRE(seen.accesses.size() == 2);
        check_access(seen.accesses[0], f.x, 0, n, AccessMode::read, 0);
        check_access(seen.accesses[1], f.y, 0, n, AccessMode::read_write, 1);
        CHECK_FALSE(seen.op.holds_pointers);
        CHECK(to_host(f.s, f.y) == Ints(n, 5));
    }
    SECTION("const arrays and parts") {
        const Array<int>& fixed = f.x;
        launch(f.s, AddSpans{}, dim(10), fixed, f.y.subview(20, 10));
        const Seen seen = watch.take_only(OpKind::launch);
        REQUIRE(seen.accesses.size() == 2);
        check_access(seen.accesses[0], f.x, 0, n, AccessMode::read, 0);
        check_access(seen.accesses[1], f.y, 20, 10, AccessMode::read_write, 1);
        Ints expected(n, 0);
        std::fill_n(expected.begin() + 20, 10, 5);
        CHECK(to_host(f.s, f.y) == expected);
    }
    SECTION("a reference to a span") {
        launch(f.s, AddOne{}, dim(n), f.y);
        check_access(watch.take_only(OpKind::launch).accesses.at(0), f.y, 0, n,
                     AccessMode::read_write, 0);
        CHECK(to_host(f.s, f.y) == Ints(n, 1));
    }
    SECTION("declared parts") {
        launch(f.s, AddOne{}, dim(4), touching(f.y, f.y.first(4)));
        check_access(watch.take_only(OpKind::launch).accesses.at(0), f.y, 0, 4,
                     AccessMode::read_write, 0);
    }
    SECTION("a kernel with several operators") {
        launch(f.s, Overloaded{}, dim(n), f.y);
        check_access(watch.take_only(OpKind::launch).accesses.at(0), f.y, 0, n,
                     AccessMode::read_write, 0);
        CHECK(to_host(f.s, f.y) == Ints(n, 1));
    }
}

TEST_CASE("spans: a span within an array is tracked with its array") {
    Fixture f;
    Watch watch;
    launch(f.s, AddSpans{}, dim(10), read_span_of(f.x.last(10)), span_of(f.y.first(10)));
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    check_access(seen.accesses[0], f.x, n - 10, 10, AccessMode::read, 0);
    check_access(seen.accesses[1], f.y, 0, 10, AccessMode::read_write, 1);
    CHECK_FALSE(seen.op.holds_pointers);

    launch(f.s, AddViews{}, dim(10), read_span_of(f.x.last(10)), span_of(f.y.last(10)));
    const Seen views = watch.take_only(OpKind::launch);
    REQUIRE(views.accesses.size() == 2);
    check_access(views.accesses[0], f.x, n - 10, 10, AccessMode::read, 0);
    check_access(views.accesses[1], f.y, n - 10, 10, AccessMode::read_write, 1);
    Ints expected(n, 0);
    std::fill_n(expected.begin(), 10, 5);
    std::fill_n(expected.end() - 10, 10, 5);
    CHECK(to_host(f.s, f.y) == expected);
}

TEST_CASE("spans: a span of other memory is passed on, and known by its address") {
    Fixture f;
    Watch watch;
    std::vector<int> host(n, 7);
    launch(f.s, AddSpans{}, dim(n), std::span<const int>(host), f.y);
    const Seen seen = watch.take_only(OpKind::launch);
    REQUIRE(seen.accesses.size() == 2);
    CHECK(seen.accesses[0].data == host.data());
    CHECK(seen.accesses[0].bytes == n * sizeof(int));
    CHECK(seen.accesses[0].allocation == 0);
    CHECK(to_host(f.s, f.y) == Ints(n, 7));
}

TEST_CASE("spans: empty spans access nothing") {
    Fixture f;
    Watch watch;
    launch(f.s, AddSpans{}, dim(0), std::span<const int>(), std::span<int>());
    launch(
        f.s, [](std::size_t, std::span<int>, std::span<int> y) { y[0] = 3; }, dim(1), f.x.first(0),
        f.y);
    // The address after the last element of x may be another array's.
    launch(f.s, [](std::size_t, std::span<int>) {}, dim(1), span_of(f.x.last(0)));
    CHECK(to_host(f.s, f.y).front() == 3);
}

TEST_CASE("spans: an array is freed after kernels that use it through a span") {
    expect_freed_after([](Fixture& f) { launch(f.s, AddSpans{}, dim(n), f.x, f.y); });
    expect_freed_after([](Fixture& f) {
        launch(f.s, AddSpans{}, dim(n), read_span_of(f.x.view()), span_of(f.y.view()));
    });
    expect_freed_after(
        [](Fixture& f) { launch(f.s, AddViews{}, dim(n), read_span_of(f.x.view()), f.y); });
}

TEST_CASE("spans: wrong arrays and spans are refused before the launch") {
    Fixture f;
    const std::span<int> too_long(f.y.view().data() + 60, 50);
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { launch(f.s, AddSpans{}, dim(1), f.x, too_long); });
    INFO(error.what());
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK(mentions(error, "argument 2 is a span of 200 bytes, but only 160 bytes of its array are "
                          "left from its first element on"));
    Array<int> moved = std::move(f.x);
    CHECK(mentions(error_of([&] { launch(f.s, AddSpans{}, dim(1), f.x, f.y); }), "argument 1"));
    CHECK_FALSE(f.s.is_poisoned());
}

TEST_CASE("spans: a kernel that throws poisons the stream") {
    Fixture f;
    launch(f.s, ThrowBoom{}, dim(1), f.y);
    CHECK(cause_of(thrown_by([&] { f.s.synchronize(); })) == "from the kernel");
}

TEST_CASE("spans: prepared launches take arrays and spans") {
    Fixture f;
    Array<int> z = full<int>(f.s, n, 1);
    auto add = prepare(cpu_device(), AddSpans{}, dim(n), f.x, f.y);
    add.launch(f.s);
    add.set<0>(z).launch(f.s);
    CHECK(to_host(f.s, f.y) == Ints(n, 6));
    auto by_span = prepare(cpu_device(), AddSpans{}, dim(n), read_span_of(f.x.view()), f.y);
    by_span.launch(f.s);
    by_span.set<0>(z).launch(f.s);
    by_span.set<0>(read_span_of(f.x.view())).launch(f.s);
    CHECK(to_host(f.s, f.y) == Ints(n, 17));
    f.x.reset();
    CHECK(error_of([&] { by_span.launch(f.s); }));
}

TEST_CASE("spans: graphs, captures and batches keep the spans of their kernels") {
    Fixture f;
    Array<int> z = full<int>(f.s, n, 1);
    SECTION("a node") {
        auto add = kernel_node(cpu_device(), AddSpans{}, dim(n), f.x, f.y);
        Graph graph = add.build();
        graph.launch(f.s);
        add.args(read_span_of(z.view()), f.y);
        graph.launch(f.s);
        CHECK(to_host(f.s, f.y) == Ints(n, 6));
        z.reset();
        CHECK(error_of([&] { graph.launch(f.s); }));
    }
    SECTION("a capture") {
        ScopedCapture capture(f.s);
        launch(f.s, AddSpans{}, dim(n), f.x, f.y);
        launch(f.s, AddOne{}, dim(n), span_of(f.y.view()));
        Graph graph = capture.end();
        graph.launch(f.s);
        graph.launch(f.s);
        CHECK(to_host(f.s, f.y) == Ints(n, 12));
    }
    SECTION("a batch") {
        Batch batch;
        for (int i = 0; i < 3; ++i) {
            const ScopedBatch in(batch, f.s);
            launch(f.s, AddSpans{}, dim(n), f.x, f.y);
            launch(f.s, AddOne{}, dim(n), span_of(f.y.view()));
        }
        CHECK(to_host(f.s, f.y) == Ints(n, 18));
    }
}

TEST_CASE("spans: DataOrder orders kernels by their spans") {
    Fixture f;
    Array<int> z = ready_zeros<int>(f.s, n);
    {
        DataOrder order(cpu_device());
        for (int i = 0; i < 20; ++i) {
            launch(order, AddSpans{}, dim(n), f.x, f.y);
            launch(order, AddSpans{}, dim(n), read_span_of(f.y.view()), span_of(z.view()));
            launch(order, AddOne{}, dim(n), span_of(f.x.view()));
        }
        order.synchronize();
    }
    int x = 5, y = 0, sum = 0;
    for (int i = 0; i < 20; ++i) y += x++, sum += y;
    CHECK(to_host(f.s, z) == Ints(n, sum));
}

TEST_CASE("spans: the checker names the argument of a span") {
    Fixture f;
    const Stream other(cpu_device(), {.name = "other"});
    Checked checked;
    launch(f.s, AddSpans{}, dim(n), f.x, f.y);
    wait_unseen(f.s);
    launch(other, AddSpans{}, dim(n), f.x, span_of(f.y.view()));
    wait_unseen(other);
    const check::Race race = checked.expect(check::RaceKind::write_after_write);
    INFO(race.text);
    CHECK(race.text.find("through its 2nd argument") != std::string::npos);
}
