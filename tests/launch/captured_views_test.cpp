// Views that a lambda, class or host function holds count like views passed as arguments.
#include "check/checked_streams.hpp"
#include "operation/watch.hpp"
#include "random.hpp"

#include <array>
#include <cstring>
#include <exception>

using namespace heddle_test;

namespace heddle_test {

/// A kernel object with members that it does not declare.
struct SetHeld {
    View<int> to;
    int value;
    HEDDLE_FN void operator()(std::size_t i) const { to[i] = value; }
};
struct Pair {
    View<const int> from;
    View<int> to;
};
struct AddPair {
    HEDDLE_FN void operator()(std::size_t i, Pair p) const { p.to[i] += p.from[i]; }
};
struct Two {
    View<int> view[2];
};
struct AddBoth {
    HEDDLE_FN void operator()(std::size_t i, Two v) const { v.view[1][i] += v.view[0][i]; }
};
struct TakesArray {
    HEDDLE_FN void operator()(std::size_t, const std::array<View<int>, 2>&) const {}
};
struct Many {
    View<int> view[40];
};
struct Words {
    std::uint64_t word[3];
};
struct FillRows {
    HEDDLE_FN void operator()(std::size_t, View2D<int>) const {}
};

}  // namespace heddle_test

namespace {

/// Returns the accesses that a launch reports to observers.
template <class F> std::vector<OpAccess> accesses_of(OpKind kind, const F& enqueue) {
    Watch watch;
    enqueue();
    return watch.take_only(kind).accesses;
}

/// Returns 1000 elements. If `on_host` is true, host functions can access them.
Array<int> a_thousand(StreamRef s, int value, bool on_host) {
    if (!on_host) return full<int>(s, 1000, value);
    Array<int> x = pinned<int>(1000);
    fill(s, x, value);
    return x;
}

/// Enqueues a use of `x` behind a gate, and frees `x`. Then checks that the use has added the old
/// elements of `x` to `sum`.
template <class Use> void expect_freed_after(bool on_host, const Use& use) {
    const Stream s(test_device()), other(test_device());
    Array<int> sum = a_thousand(other, 0, on_host);
    Array<int> x = a_thousand(other, 5, on_host);
    other.synchronize();
    Gate gate(s);
    use(s, x, sum);
    x.reset();
    std::vector<Array<int>> others;  // if the memory were free, these would get it
    for (int i = 0; i < 4; ++i) others.push_back(a_thousand(other, 100, on_host));
    gate.open();
    CHECK(to_host(s, sum) == Ints(1000, 5));
    other.synchronize();
}

}  // namespace

TEST_CASE("an array that a lambda captures is freed after the kernel") {
    const int way = GENERATE(0, 1, 2, 3, 4, 5);
    INFO(way);
    expect_freed_after(way >= 4, [&](StreamRef s, Array<int>& x, Array<int>& sum) {
        const View<const int> v = x.view();
        const View<int> to = sum.view();
        const auto add = [v, to] HEDDLE_FN(std::size_t i) { to[i] += v[i]; };
        switch (way) {
        case 0: return launch(s, add, dim(1000));
        case 1: return launch(s, AddPair{}, dim(1000), Pair{x, sum});
        case 2: return launch(s, AddBoth{}, dim(1000), Two{{x.view(), sum.view()}});
        case 3: {
            const ScopedStream in(s, {.wait_on_enter = false});
            Batch batch({.on_cpu = true});
            return batch.run([&] { launch(add, dim(1000)); });
        }
        case 4:
            return launch_host(s, [v, to] {
                for (std::size_t i = 0; i < v.size(); ++i) to[i] += v[i];
            });
        default:
            on_completion(s, [v, to](std::exception_ptr) {
                for (std::size_t i = 0; i < v.size(); ++i) to[i] += v[i];
            });
        }
    });
}

TEST_CASE("observers see the views that kernels hold, with mode, part and element") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    const View<int> v = x.view().last(4);
    const View<const int> c = x.view().first(5);
    auto all = accesses_of(OpKind::launch, [&] {
        launch(s, [v, c] HEDDLE_FN(std::size_t i) { v[i] = c[i]; }, dim(4));
    });
    REQUIRE(all.size() == 2);
    CHECK(all[0].data == x.data() + 6);
    CHECK(all[0].bytes == 4 * sizeof(int));
    CHECK(all[0].element == sizeof(int));
    CHECK(all[0].mode == AccessMode::read_write);
    CHECK(all[0].argument == -1);
    CHECK(all[1].data == x.data());
    CHECK(all[1].bytes == 5 * sizeof(int));
    CHECK(all[1].mode == AccessMode::read);

    all = accesses_of(OpKind::launch, [&] { launch(s, SetHeld{x, 3}, dim(10)); });
    CHECK(all.size() == 1);
    all = accesses_of(OpKind::launch, [&] { launch(s, AddPair{}, dim(10), Pair{x, x}); });
    REQUIRE(all.size() == 2);
    CHECK(all[0].mode == AccessMode::read);
    CHECK(all[0].argument == 0);
    all = accesses_of(OpKind::launch, [&] {
        launch(s, TakesArray{}, dim(10), std::array<View<int>, 2>{x.view(), x.view()});
    });
    CHECK(all.size() == 2);
}

TEST_CASE("a View2D counts as its rows, as an argument and captured") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 20);
    const View2D<int> left(x.view(), 4, 2, 5);
    const auto check = [&](const std::vector<OpAccess>& all) {
        REQUIRE(all.size() == 1);
        CHECK(all[0].data == x.data());
        CHECK(all[0].rows == 4);
        CHECK(all[0].bytes == 2 * sizeof(int));
        CHECK(all[0].pitch == 5 * sizeof(int));
    };
    check(accesses_of(OpKind::launch, [&] { launch(s, FillRows{}, dim(1), left); }));
    check(accesses_of(OpKind::launch,
                      [&] { launch(s, [left] HEDDLE_FN(std::size_t) { (void)left; }, dim(1)); }));
}

TEST_CASE("a kernel that holds a view of an array that is gone is refused") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    const SetHeld held{x, 1};
    const Pair pair{x, x};
    auto prepared = prepare(test_device(), held, dim(10));
    s.synchronize();
    x.reset();
    CHECK_THROWS_AS(launch(s, held, dim(10)), UsageError);
    CHECK_THROWS_AS(launch(s, AddPair{}, dim(10), pair), UsageError);
    CHECK_THROWS_AS(launch_host(s, [pair] { (void)pair.from; }), UsageError);
    CHECK_THROWS_AS(kernel_node(test_device(), held, dim(10)), UsageError);
    CHECK_THROWS_AS(host_node(test_device(), [pair] { (void)pair.from; }), UsageError);
    CHECK_THROWS_AS(prepared.launch(s), UsageError);
    const SetHeld unused{View<int>(), 1};
    launch(s, unused, dim(0));
}

TEST_CASE("a graph refuses to launch once an array is gone that its kernel captured") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Graph graph = capture(s, [&] { launch(s, SetHeld{x, 4}, dim(10)); });
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(10, 4));
    x.reset();
    CHECK_THROWS_AS(graph.launch(s), UsageError);
}

TEST_CASE("the body of a condition, a host node and a prepared launch hold views, too") {
    const Here here;
    Array<int> x = zeros<int>(10), y = zeros<int>(10), value = full<int>(1, 1);
    Array<int> on_host = pinned<int>(10);
    const View<int> v = on_host;
    Graph branch = if_node(value, kernel_node(SetHeld{x, 4}, dim(10)).build()).build();
    Graph host = host_node([v] { v[3] = 6; }).build();
    auto prepared = prepare(AddPair{}, dim(10), Pair{value, value});
    CHECK_NOTHROW(prepared.set<0>(Pair{x, y}));
    branch.launch();
    host.launch();
    prepared.launch();
    CHECK(to_host(y) == Ints(10, 4));
    CHECK(on_host[3] == 6);
    const Pair gone{x, y};
    x.reset();
    on_host.reset();
    CHECK_THROWS_AS(branch.launch(), UsageError);
    CHECK_THROWS_AS(host.launch(), UsageError);
    CHECK_THROWS_AS(prepared.launch(), UsageError);
    CHECK_THROWS_AS(prepared.set<0>(gone), UsageError);
    prepared.set<0>(Pair{y, y}).launch();
    CHECK(to_host(y) == Ints(10, 8));
}

TEST_CASE("a batch that is sent again holds the arrays that its kernels capture this time") {
    const Here here;
    const Stream other(test_device());
    Array<int> sum = zeros<int>(1000);
    Batch step({.on_cpu = true});
    Gate gate(here.stream);
    for (int round = 1; round <= 4; ++round) {
        Array<int> x = full<int>(other, 1000, round);
        here.stream.wait_stream(other);
        const View<const int> from = x;
        const View<int> to = sum;
        step.run(
            [&] { launch([from, to] HEDDLE_FN(std::size_t i) { to[i] += from[i]; }, dim(1000)); });
        if (round > 1) CHECK(step.last().outcome != BatchOutcome::instantiated);
    }
    gate.open();
    CHECK(to_host(sum) == Ints(1000, 1 + 2 + 3 + 4));
    other.synchronize();
}

TEST_CASE("random words, and addresses of arrays among them, are no views") {
    Array<int> x = zeros<int>(Stream(test_device()), 10);
    Words view{};
    const View<int> of_x = x;
    std::memcpy(&view, &of_x, sizeof of_x);
    Random random(7);
    std::uint64_t words[8];
    detail::MemoryArgument found[3];
    std::size_t views = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        for (std::uint64_t& word : words) {
            word = random.below(~std::size_t{0});
            if (word % 2 == 0) word = view.word[word % 4];  // the address or the owner word
        }
        views += detail::find_views(words, sizeof words, 0, found) != found;
    }
    CHECK(views == 0);
}

TEST_CASE("words that are no views of arrays are no uses") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    static_assert(!detail::holds_no_pointer<Pair>());
    Words words{};
    const View<int> view = x.view();
    std::memcpy(&words, &view, sizeof view);
    const auto capturing = [&words](std::uint64_t data, std::uint64_t extent, std::uint64_t owner) {
        words = {{data, extent, owner}};
        void* unused = nullptr;
        return [words, unused] HEDDLE_FN(std::size_t) { (void)words, (void)unused; };
    };
    const auto [data, extent, owner] = words.word;
    const auto count = [&](const auto& kernel) {
        return accesses_of(OpKind::launch, [&] { launch(s, kernel, dim(1)); }).size();
    };
    CHECK(count(capturing(data, extent, owner)) == 1);
    CHECK(count(capturing(data, extent + 1, owner)) == 0);
    CHECK(count(capturing(data - 1, extent, owner)) == 0);
    CHECK(count(capturing(data, extent, owner & ~std::uint64_t{0x1e})) == 0);
    CHECK(count(capturing(data, extent, owner + (1u << 20))) == 0);
    CHECK(count(capturing(data, extent, 0x16)) == 0);
    CHECK(count(capturing(owner, owner, ~std::uint64_t{0})) == 0);
}

TEST_CASE("all views of a kernel are seen, more than 32 too") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100);
    Many many;
    for (std::size_t i = 0; i < 40; ++i) many.view[i] = x.view().subview(i, 1);
    const auto all = accesses_of(OpKind::launch, [&] {
        launch(s, [many] HEDDLE_FN(std::size_t i) { many.view[i][0] = 1; }, dim(40));
    });
    CHECK(all.size() == 40);
}

TEST_CASE("races through captured views are certain, and halves are none") {
    using check::RaceKind;
    CheckedRun s;
    const auto set = [](View<int> v) { return [v] HEDDLE_FN(std::size_t i) { v[i] = 7; }; };
    if (GENERATE(true, false)) {
        launch(s.a, set(s.x.view().first(10)), dim(10));
        launch(s.b, set(s.x.view().subview(10, 10)), dim(10));
        return s.checked.expect_silence();
    }
    launch(s.a, set(s.x), dim(10));
    launch(s.b, set(s.x), dim(10));
    CHECK(s.checked.expect(RaceKind::write_after_write).first.argument == -1);
}

TEST_CASE("the checker's summary names kernels with pointers that nothing declares") {
    CheckedRun s;
    const View<int> v = s.x.view();
    launch(s.a, [v] HEDDLE_FN(std::size_t i) { v[i] = 7; }, dim(10));
    int* const p = s.x.data();
    launch(s.a, [p] HEDDLE_FN(std::size_t i) { p[i] = 7; }, dim(10));
    const check::Summary found = s.checked.end();
    for (const std::string& at : found.undeclared_at) UNSCOPED_INFO(at);
    CHECK(found.undeclared == 1);
    REQUIRE(found.undeclared_at.size() == 1);
    CHECK(found.undeclared_at[0].find("captured_views_test.cpp") != std::string::npos);
}
