// Algorithms in code that nvcc compiles: on a GPU by CUB, and on a CPU device. The results are
// the same. tests/algorithms has the cases for CPU devices.
#include "../algorithms/inputs.hpp"
#include "../operation/watch.hpp"

#include <functional>
#include <limits>
#include <tuple>

using namespace heddle_test;

namespace {

/// Returns a CPU device and, if there is one, a GPU.
std::vector<Device> both_kinds() {
    std::vector<Device> all{cpu_device()};
    if (device_count(DeviceKind::cuda) != 0) all.emplace_back("cuda:0");
    return all;
}

struct Least {
    HEDDLE_FN int operator()(int a, int b) const { return a < b ? a : b; }
};
struct IsOdd {
    HEDDLE_FN bool operator()(int one) const { return one % 2 != 0; }
};
struct ByRank {
    HEDDLE_FN bool operator()(const Card& a, const Card& b) const { return a.rank < b.rank; }
};
struct AddPoints {
    HEDDLE_FN Point operator()(const Point& a, const Point& b) const {
        return {a.x + b.x, a.y + b.y};
    }
};
struct ToPoint {
    HEDDLE_FN Point operator()(int one) const { return {one, 1}; }
};

/// The results of all algorithms for `size` elements. `on` is a stream or a DataOrder.
template <class On> auto results_on(On& on, StreamRef s, std::size_t size) {
    const Ints values = numbers(size);
    std::vector<double> reals(values.begin(), values.end());
    Array<int> x = from_host(s, values), least(s, 1), sorted = from_host(s, values);
    Array<long> sum(s, 1), odd(s, 1), dot(s, 1), before(s, size), after(s, size);
    Array<Point> point(s, 1);
    Array<std::size_t> first(s, 1), last(s, 1);
    Array<Card> some = from_host(s, cards(size));
    Array<double> keys = from_host(s, reals);
    Array<std::int64_t> counts(s, 5);
    Array<unsigned> few(s, 3);
    s.synchronize();
    reduce(on, x, sum, 3);
    reduce(on, x, least, std::numeric_limits<int>::max(), Least());
    transform_reduce(on, x, point, Point{}, AddPoints(), ToPoint());
    transform_reduce(on, x, sorted, dot, 1);
    count_if(on, x, odd, IsOdd());
    min_element(on, some, first, ByRank());
    max_element(on, some, last, ByRank());
    histogram(on, keys, counts, -1'000'000.0, 1'000'000.0);
    histogram(on, x, few, -5'000, 1'000'000);
    inclusive_scan(on, x, after);
    exclusive_scan(on, x, before, 5);
    sort(on, sorted);
    sort_by_key(on, keys, x, std::greater<>());
    sort(on, some, ByRank());
    return std::tuple(to_host(on, sum), to_host(on, least), to_host(on, point), to_host(on, odd),
                      to_host(on, dot), to_host(on, first), to_host(on, last), to_host(on, counts),
                      to_host(on, few), to_host(on, after), to_host(on, before),
                      to_host(on, sorted), to_host(on, keys), to_host(on, x), to_host(on, some));
}

}  // namespace

TEST_CASE("algorithms have the same results on a GPU and on a CPU device", "[cuda]") {
    for (const std::size_t size : {0, 1, 2, 1000, 4097, 100'000}) {
        INFO(size << " elements");
        const Stream cpu(cpu_device());
        const auto expected = results_on(cpu, cpu, size);
        for (const Device device : both_kinds()) {
            const Stream s(device);
            CHECK((results_on(s, s, size) == expected));
            DataOrder order(device);
            CHECK((results_on(order, s, size) == expected));
        }
    }
}

TEST_CASE("algorithms on a GPU can be captured and in a batch", "[cuda]") {
    for (const Device device : both_kinds()) {
        const Stream s(device);
        const ScopedStream in(s);
        Array<int> x(s, 5000);
        Array<long> sum(s, 1), sums(s, 5000);
        const auto work = [&] {
            reduce(x, sum);
            inclusive_scan(x, sums);
            sort(x, std::greater<>());
        };
        Graph graph = capture(s, work);
        Batch step({.on_cpu = true});
        for (int i = 1; i <= 3; ++i) {
            fill(s, x, i);
            graph.launch(s);
            CHECK(value_of(s, sum) == 5000L * i);
            fill(s, x, -i);
            step.run(work);
            CHECK(value_of(s, sum) == -5000L * i);
            CHECK(to_host(s, sums).back() == -5000L * i);
        }
    }
}

CUDA_TEST_CASE("in a capture, algorithms one after another reuse their temporary memory") {
    const Stream s(Device("cuda:0"));
    Array<int> x = zeros<int>(s, 100'000);
    Array<long> sum(s, 1);
    ScopedCapture scope(s);
    Watch watch;
    const auto memory_of_reduce = [&] {
        reduce(s, x, sum);
        std::vector<const void*> memory;
        for (const Seen& one : watch.take(OpKind::allocate))
            memory.push_back(one.accesses.at(0).data);
        return memory;
    };
    const std::vector<const void*> first = memory_of_reduce();
    CHECK(first.size() == 1);
    CHECK(memory_of_reduce() == first);
    (void)scope.end();
}

CUDA_TEST_CASE("on a GPU, an algorithm is one operation with its name and accesses") {
    const Stream s(Device("cuda:0"));
    Array<int> x = zeros<int>(s, 100);
    Array<long> sum(s, 1);
    Watch watch;
    reduce(s, x, sum);
    const Seen seen = watch.take_only(OpKind::native);
    CHECK(seen.name == "reduce");
    REQUIRE(seen.accesses.size() == 2);
    CHECK(seen.accesses[0].data == x.view().data());
    CHECK(seen.accesses[0].mode == AccessMode::read);
    CHECK(seen.accesses[1].mode == AccessMode::read_write);
    CHECK(seen.accesses[1].argument == 1);
}

CUDA_TEST_CASE("on a failed stream of a GPU, algorithms are dropped") {
    const Stream s(Device("cuda:0"));
    Array<int> x = ready_zeros<int>(s, 100);
    launch_host(s, [] { throw std::runtime_error("on purpose"); });
    CHECK_THROWS_AS(s.synchronize(), Error);
    sort(s, x);
    CHECK_THROWS_AS(s.synchronize(), Error);
    (void)s.clear_error();
}

TEST_CASE("algorithms count more than 2^32 elements", "[cuda][.large]") {
    for (const Device device : both_kinds()) {
        const Stream s(device);
        const std::size_t size = (std::size_t{1} << 32) + 5;
        Array<unsigned char> x = full<unsigned char>(s, size, 1);
        Array<std::size_t> sum(s, 1), last(s, 1);
        reduce(s, x, sum);
        CHECK(value_of(s, sum) == size);
        fill(s, x.last(1), 2);
        max_element(s, x, last);
        CHECK(value_of(s, last) == size - 1);
        sort(s, x, std::greater<>());
        CHECK(to_host(s, x.first(2)) == std::vector<unsigned char>{2, 1});
    }
}
