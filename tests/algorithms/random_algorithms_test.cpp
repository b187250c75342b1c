// Random algorithms on several arrays, ordered by data and on streams that wait for each other. The
// results are those of the same calls made one after the other on the host.
#include "algorithms/inputs.hpp"
#include "random.hpp"

#include <algorithm>
#include <numeric>

using namespace heddle_test;

namespace {

using Words = std::vector<unsigned>;
constexpr std::size_t arrays = 5;

/// The number of elements of an array: of one chunk, or of several.
constexpr std::size_t size_of(std::size_t array) { return array < 2 ? 1000 : 9000; }

/// One call: an algorithm, its input and its output. Sorts use only the output.
struct Call {
    std::size_t algorithm, from, to;
};
Call random_call(Random& random) {
    Call call{random.below(6), random.below(arrays), random.below(arrays)};
    if (size_of(call.from) != size_of(call.to)) call.from = call.to;
    return call;
}

template <class On>
void enqueue(const Call& call, std::vector<Array<unsigned>>& x, Array<unsigned>& one, On& on) {
    const Array<unsigned>& from = x[call.from];
    Array<unsigned>& to = x[call.to];
    switch (call.algorithm) {
    case 0: inclusive_scan(on, from, to); break;
    case 1: exclusive_scan(on, from, to, 3u); break;
    case 2: sort(on, to); break;
    case 3: sort(on, to, [](unsigned a, unsigned b) { return a % 64 < b % 64; }); break;
    case 4: reduce(on, from, to.first(1)); break;
    default: reduce(on, from, one); copy(on, to.last(1), one);
    }
}
void call_on_host(const Call& call, std::vector<Words>& x) {
    const Words from = x[call.from];
    Words& to = x[call.to];
    switch (call.algorithm) {
    case 0: std::inclusive_scan(from.begin(), from.end(), to.begin()); break;
    case 1: std::exclusive_scan(from.begin(), from.end(), to.begin(), 3u); break;
    case 2: std::sort(to.begin(), to.end()); break;
    case 3:
        std::stable_sort(to.begin(), to.end(),
                         [](unsigned a, unsigned b) { return a % 64 < b % 64; });
        break;
    case 4: to.front() = std::accumulate(from.begin(), from.end(), 0u); break;
    default: to.back() = std::accumulate(from.begin(), from.end(), 0u);
    }
}

/// Makes the arrays, lets `run` enqueue random calls on them, and compares the results.
template <class Run> void check_random_calls(std::uint64_t seed, const Run& run) {
    INFO("seed " << seed);
    Random random(seed);
    const Stream s(cpu_device());
    std::vector<Words> expected;
    std::vector<Array<unsigned>> x;
    for (std::size_t i = 0; i < arrays; ++i) {
        const Ints values = numbers(size_of(i));
        expected.emplace_back(values.begin(), values.end());
        x.push_back(from_host(s, expected.back()));
    }
    Array<unsigned> one(s, 1);
    s.synchronize();
    std::vector<Call> calls;
    for (int i = 0; i < 40; ++i) calls.push_back(random_call(random));
    for (const Call& call : calls) call_on_host(call, expected);
    run(calls, x, one, random);
    for (std::size_t i = 0; i < arrays; ++i) CHECK(to_host(s, x[i]) == expected[i]);
}

}  // namespace

TEST_CASE("random algorithms, ordered by data, have the results of a sequence of calls") {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        check_random_calls(seed, [](const auto& calls, auto& x, auto& one, Random&) {
            DataOrder order(cpu_device(), {.streams = 3, .spread = DataSpread::always});
            for (const Call& call : calls) enqueue(call, x, one, order);
            order.synchronize();
        });
}

TEST_CASE("random algorithms on streams that wait for each other have the same results") {
    for (std::uint64_t seed = 100; seed < 120; ++seed)
        check_random_calls(seed, [](const auto& calls, auto& x, auto& one, Random& random) {
            const Stream streams[3] = {Stream(cpu_device()), Stream(cpu_device()),
                                       Stream(cpu_device())};
            std::size_t before = 0;
            for (const Call& call : calls) {
                const std::size_t now = random.below(3);
                streams[now].wait_stream(streams[before]);
                enqueue(call, x, one, streams[now]);
                before = now;
            }
            streams[before].synchronize();
        });
}
