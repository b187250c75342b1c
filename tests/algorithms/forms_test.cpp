// The common part of all algorithms: streams, orders by data, recordings, failures, errors, names.
#include "algorithms/inputs.hpp"
#include "check/checked.hpp"
#include "operation/watch.hpp"

#include <functional>
#include <numeric>

using namespace heddle_test;

namespace {

constexpr std::size_t many = 20'000;

/// The arrays of all algorithms.
struct Arrays {
    explicit Arrays(StreamRef s) : x(from_host(s, numbers(many))), sums(s, many), counts(s, 4) {
        for (Array<long>* one : {&sum, &count}) *one = Array<long>(s, 1);
        least = Array<std::size_t>(s, 1);
    }
    Array<int> x;
    Array<long> sums, sum, count;
    Array<std::size_t> least;
    Array<unsigned> counts;
};
/// The results of all algorithms.
struct Results {
    std::vector<long> sums;
    long sum, count;
    std::size_t least;
    std::vector<unsigned> counts;
    Ints sorted;
    bool operator==(const Results&) const = default;
};

constexpr auto is_odd = [](int one) { return one % 2 != 0; };

/// Enqueues all algorithms. Without `on`, on the current stream.
template <class... On> void enqueue_all(Arrays& a, On&... on) {
    reduce(on..., a.x, a.sum);
    count_if(on..., a.x, a.count, is_odd);
    min_element(on..., a.x, a.least);
    histogram(on..., a.x, a.counts, -4000, 4000);
    inclusive_scan(on..., a.x, a.sums);
    sort(on..., a.x);
}
template <class On> Results read(On& on, const Arrays& a) {
    return {to_host(on, a.sums),     to_host(on, a.sum)[0], to_host(on, a.count)[0],
            to_host(on, a.least)[0], to_host(on, a.counts), to_host(on, a.x)};
}
Results expected_of(Ints values) {
    Results all{std::vector<long>(values.size()), 0, 0, 0, std::vector<unsigned>(4), {}};
    std::inclusive_scan(values.begin(), values.end(), all.sums.begin(), std::plus<>(), 0L);
    all.sum = all.sums.back();
    all.count = std::count_if(values.begin(), values.end(), is_odd);
    all.least =
        static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
    for (const int one : values)
        if (one >= -4000 && one < 4000) ++all.counts[static_cast<std::size_t>((one + 4000) / 2000)];
    std::sort(values.begin(), values.end());
    all.sorted = std::move(values);
    return all;
}

}  // namespace

TEST_CASE("algorithms run on a stream, or on the current one") {
    const Stream s(cpu_device());
    Arrays a(s), b(s);
    enqueue_all(a, s);
    CHECK(read(s, a) == expected_of(numbers(many)));
    const ScopedStream in(s);
    enqueue_all(b);
    CHECK(read(s, b) == expected_of(numbers(many)));
}

TEST_CASE("algorithms are ordered by data") {
    const Stream s(cpu_device());
    Arrays a(s);
    s.synchronize();
    DataOrder order(cpu_device());
    for (int i = 0; i < 3; ++i) {
        copy(order, a.x, numbers(many));
        enqueue_all(a, order);
    }
    CHECK(read(order, a) == expected_of(numbers(many)));
}

TEST_CASE("algorithms can be captured, and their graph computes anew at each launch") {
    const Stream s(cpu_device());
    Arrays a(s);
    s.synchronize();
    Graph graph = capture(s, [&] { enqueue_all(a, s); });
    for (const int shift : {0, 1, 12}) {
        Ints values = numbers(many);
        for (int& one : values) one -= shift;
        copy(s, a.x, values);
        graph.launch(s);
        CHECK(read(s, a) == expected_of(values));
    }
}

TEST_CASE("algorithms can be in a batch, which is replayed") {
    const Stream s(cpu_device());
    const ScopedStream in(s);
    Arrays a(s);
    Batch step({.on_cpu = true});
    for (const int shift : {0, 1, 12}) {
        Ints values = numbers(many);
        for (int& one : values) one -= shift;
        copy(s, a.x, values);
        step.run([&] { enqueue_all(a); });
        CHECK(read(s, a) == expected_of(values));
    }
}

TEST_CASE("on a failed stream, algorithms are dropped") {
    const Stream s(cpu_device());
    Arrays a(s);
    fill(s, a.sum, -5);
    s.synchronize();
    launch_host(s, [] { throw std::runtime_error("on purpose"); });
    enqueue_all(a, s);
    CHECK_THROWS_AS(s.synchronize(), Error);
    CHECK(s.clear_error() != nullptr);
    CHECK(to_host(s, a.sum)[0] == -5);
    CHECK(to_host(s, a.x) == numbers(many));
}

TEST_CASE("an exception of an operator makes its stream fail") {
    const Stream s(cpu_device());
    Arrays a(s);
    const auto throws = [](int a_key, int b_key) -> bool {
        if (a_key != b_key) throw std::runtime_error("an operator failed");
        return false;
    };
    sort(s, a.x, throws);
    CHECK_THROWS_WITH(s.synchronize(), contains("an operator failed"));
    (void)s.clear_error();
    DataOrder order(cpu_device());
    min_element(order, a.x, a.least, throws);
    CHECK_THROWS_WITH(to_host(order, a.least), contains("an operator failed"));
    (void)order.clear_error();
}

TEST_CASE("wrong sizes and overlaps are errors, which name the algorithm") {
    const Stream s(cpu_device());
    Arrays a(s);
    CHECK_THROWS_WITH(reduce(s, a.x, a.sums),
                      contains("in reduce") && contains("pass an array or view of one"));
    CHECK_THROWS_WITH(inclusive_scan(s, a.x, a.sum),
                      contains("in inclusive_scan") && contains("pass equal sizes"));
    CHECK_THROWS_WITH(exclusive_scan(s, a.sums.first(5), a.sums.view().subview(1, 5)),
                      contains("share a part of their memory"));
    CHECK_THROWS_WITH(sort_by_key(s, a.x, a.counts), contains("keys have 20000 elements"));
    CHECK_THROWS_WITH(histogram(s, a.x, a.counts, 3, 3), contains("not less"));
    CHECK_THROWS_WITH(histogram(s, a.x, a.counts.first(0), 0, 3), contains("0 bins"));
    Array<long> moved = std::move(a.sum);
    CHECK_THROWS_AS(reduce(s, a.x, a.sum), UsageError);
    reduce(s, a.x, moved);
    s.synchronize();
}

TEST_CASE("observers see an algorithm's name, and how its arguments are used") {
    const Stream s(cpu_device());
    Arrays a(s);
    s.synchronize();
    const void *const x = a.x.data(), *const sum = a.sum.data();
    Watch watch;
    reduce(s, a.x, a.sum);
    const std::vector<Seen> seen = watch.take(OpKind::launch);
    REQUIRE(seen.size() == 2);
    for (const Seen& one : seen) {
        CHECK(one.name == "reduce");
        CHECK(one.file == __FILE__);
        CHECK_FALSE(one.op.holds_pointers);
        CHECK_FALSE(one.op.may_signal);
    }
    CHECK(seen[0].accesses[1].data == x);
    CHECK(seen[0].accesses[1].bytes == a.x.size_bytes());
    CHECK(seen[0].accesses[1].mode == AccessMode::read);
    CHECK(seen[0].accesses[1].argument == 0);
    CHECK(seen[1].accesses[1].data == sum);
    CHECK(seen[1].accesses[1].argument == 1);
    sort_by_key(s, a.sums, a.x.view());
    for (const Seen& one : watch.take(OpKind::launch)) CHECK(one.name == "sort_by_key");
}

TEST_CASE("the checker finds a missing wait for an algorithm, and names its argument") {
    const Stream s(cpu_device()), t(cpu_device());
    Arrays a(s);
    t.wait_stream(s);
    s.synchronize();
    Checked checked;
    Gate gate(s);
    sort(s, a.x);
    reduce(t, a.x, a.sum);
    t.synchronize();
    gate.open();
    s.synchronize();
    const std::vector<check::Race> races = checked.races();
    REQUIRE_FALSE(races.empty());
    CHECK_THAT(races[0].text, contains("sort") && contains("reduce") && contains("1st argument"));
}

TEST_CASE("views that an operator holds count as used") {
    const Stream s(cpu_device());
    Arrays a(s);
    Array<int> weights = full<int>(s, many, 2);
    Watch watch;
    Array<long> sum(s, 1);
    transform_reduce(s, a.x, sum, 0, std::plus<>(),
                     [w = weights.view()](int one) { return one * w.data()[0]; });
    CHECK(watch.take(OpKind::launch)[0].accesses.size() == 3);
    weights.reset();
    Array<int> other = full<int>(s, many, 1000);
    CHECK(value_of(s, sum) == 2 * expected_of(numbers(many)).sum);
}
