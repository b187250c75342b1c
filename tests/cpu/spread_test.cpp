// Kernels that are long enough to use several threads. These tests must pass on CUDA devices, too.
#include "kernels.hpp"
#include "operation/watch.hpp"
#include "support.hpp"

namespace heddle_test {

constexpr std::size_t many = 1'000'003;  // a prime, so not a multiple of any chunk size

/// Takes some time. After an even number of rounds, the result is odd. The compiler does not know
/// that, so it cannot remove the loop.
HEDDLE_FN inline unsigned work(std::size_t seed, int rounds) {
    unsigned x = static_cast<unsigned>(seed) | 1u;
    for (int round = 0; round < rounds; ++round) x = x * 1664525u + 1013904223u;
    return x;
}

/// y[i] += 1. Does `rounds` rounds of work first, or `more` at every thousandth index.
struct Worked {
    HEDDLE_FN void operator()(std::size_t i, View<int> y, int rounds, int more) const {
        y[i] += work(i, i % 1000 == 999 ? more : rounds) != 0 ? 1 : 2;
    }
};

/// In the first launch, every index takes some time. In the second launch, the first index waits
/// for the last one. If the two run at the same time, increments `met`.
struct Meeting {
    const Flag* last_begun;
    std::atomic<int>* met;
    HEDDLE_FN void operator()(std::size_t i, std::size_t count, int time) const {
#ifndef __CUDA_ARCH__
        if (time == 1) *met += work(i, 300'000) == 0 ? 1 : 0;
        else if (i == count - 1) last_begun->set();
        else if (i == 0 && last_begun->wait()) ++*met;
#else
        (void)i, (void)count, (void)time;
#endif
    }
};

/// Throws at index `at`.
struct ThrowThere {
    HEDDLE_FN void operator()(std::size_t i, std::size_t at) const {
#ifndef __CUDA_ARCH__
        if (i == at) throw Boom("index " + std::to_string(at));
#else
        (void)i, (void)at;
#endif
    }
};

inline bool all_are(const std::vector<int>& values, int wanted) {
    for (const int value : values)
        if (value != wanted) return false;
    return true;
}

}  // namespace heddle_test

using namespace heddle_test;

TEST_CASE("a long kernel that is launched again and again runs each index once every time") {
    const Stream s{test_device()};
    Array<int> y = zeros<int>(s, many);
    for (int i = 0; i < 20; ++i) launch(s, Add{}, dim(many), y, 1);
    CHECK(all_are(to_host(s, y), 20));
}

TEST_CASE("a kernel with some expensive indices runs each index once") {
    const Stream s{test_device()};
    Array<int> y = zeros<int>(s, many);
    for (int i = 0; i < 3; ++i) launch(s, Worked{}, dim(many), y, 0, 20'000);
    const std::vector<int> counted = to_host(s, y);
    CHECK(all_are(counted, 3));
}

TEST_CASE(
    "a kernel that is long at one time and short at another runs each index once every time") {
    const Stream s{test_device()};
    Array<int> y = zeros<int>(s, 10'007);
    int launches = 0;
    for (const int rounds : {1000, 1000, 0, 0, 1000, 0, 1000, 1000}) {
        launch(s, Worked{}, dim(y.size()), y, rounds, rounds);
        ++launches;
    }
    CHECK(all_are(to_host(s, y), launches));
}

TEST_CASE("a kernel of fewer indices than there are threads runs each once") {
    const Stream s{test_device()};
    Array<int> y = zeros<int>(s, 3);
    for (int i = 0; i < 5; ++i) launch(s, Worked{}, dim(y.size()), y, 200'000, 200'000);
    CHECK(all_are(to_host(s, y), 5));
}

TEST_CASE("long kernels on several streams at once each run every index once") {
    std::vector<Stream> streams;
    std::vector<Array<int>> arrays;
    for (int i = 0; i < 4; ++i) {
        streams.emplace_back(test_device());
        arrays.push_back(zeros<int>(streams.back(), many));
    }
    for (int round = 0; round < 5; ++round)
        for (std::size_t i = 0; i < streams.size(); ++i)
            launch(streams[i], Add{}, dim(many), arrays[i], 1);
    for (std::size_t i = 0; i < streams.size(); ++i)
        CHECK(all_are(to_host(streams[i], arrays[i]), 5));
}

TEST_CASE("a CPU kernel that was long the last time is run by several workers at once") {
    if (cpu_workers() < 2) HEDDLE_SKIP("one worker does all of it");
    const Flag last_begun;
    std::atomic<int> met{0};
    const Drained drained;
    const Stream s{cpu_device()};
    constexpr std::size_t count = 64;
    for (const int time : {1, 2}) launch(s, Meeting{&last_begun, &met}, dim(count), count, time);
    s.synchronize();
    CHECK(met == 1);
}

TEST_CASE("observers are told that workers shared a CPU kernel, whichever of them finishes it") {
    if (cpu_workers() < 2) HEDDLE_SKIP("one worker does all of it");
    const Stream s{cpu_device()};
    Array<int> y = ready_zeros<int>(s, 16);
    Watch watch({.times = true});
    constexpr int launches = 50;
    for (int i = 0; i < launches; ++i) launch(s, Worked{}, dim(y.size()), y, 200'000, 200'000);
    s.synchronize();
    const auto runs = watch.runs();
    CHECK(runs.size() == launches);
    for (const OpRun& run : runs) CHECK(run.workers == static_cast<unsigned>(cpu_workers()));
}

TEST_CASE("after a CPU kernel failed and its stream was cleared, long kernels run each index once "
          "again") {
    const Stream s{cpu_device()};
    Array<int> y = zeros<int>(s, many);
    launch(s, Add{}, dim(many), y, 1);
    for (const std::size_t at : {std::size_t{0}, many / 2, many - 1}) {
        launch(s, ThrowThere{}, dim(many), at);
        CHECK(error_of([&] { s.synchronize(); }).has_value());
        s.clear_error();
        launch(s, Add{}, dim(many), y, 1);
    }
    CHECK(all_are(to_host(s, y), 4));
}
