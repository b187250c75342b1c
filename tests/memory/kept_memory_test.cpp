// Streams cache the memory of freed arrays, and reuse it if the order of work allows that.
#include "child.hpp"
#include "core/memory/size_class.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>
#include <fstream>
#include <vector>

#include <sys/resource.h>

using namespace heddle_test;

namespace {

// A number of ints. Other tests allocate no arrays of this size class.
constexpr std::size_t n = 77'777;

std::size_t held() { return memory_stats(test_device()).cached; }

/// With AddressSanitizer, a stream caches memory only if the stream is idle.
#define SKIP_IF_POISONED()                                                                         \
    if (HEDDLE_TEST_SANITIZED && HEDDLE_TEST_TSAN == 0)                                            \
    HEDDLE_SKIP("memory of streams with pending work is not kept under AddressSanitizer")

/// Frees an array on the stream. Returns its former address.
const int* free_one(StreamRef s, std::size_t size = n) {
    const int* at = nullptr;
    {
        const Array<int> x = empty<int>(s, size);
        at = x.data();
    }
    return at;
}

}  // namespace

TEST_CASE("an array gets the memory that its stream freed last, whose work is still pending") {
    SKIP_IF_POISONED();
    const Drained drained;
    const Stream s(test_device());
    Array<int> sum = zeros<int>(s, n);
    Gate gate(s);
    Array<int> x = full<int>(s, n, 1);
    const int* const at = x.data();
    launch(s, AddTo{}, dim(n), x, sum);
    x.reset();
    const MemoryStats before = memory_stats(test_device());
    Array<int> y = full<int>(s, n, 2);
    CHECK(y.data() == at);
    CHECK(memory_stats(test_device()).cache_hits == before.cache_hits + 1);
    launch(s, AddTo{}, dim(n), y, sum);
    gate.open();
    CHECK(to_host(s, sum) == Ints(n, 3));
}

TEST_CASE("streams keep as many arrays as they free") {
    const Stream s(test_device());
    std::vector<const int*> first, second;
    for (auto* seen : {&first, &second}) {
        std::vector<Array<int>> some;
        for (int i = 0; i < 10; ++i) {
            some.push_back(empty<int>(s, n));
            seen->push_back(some.back().data());
        }
    }
    std::ranges::sort(first);
    std::ranges::sort(second);
    CHECK(first == second);
}

TEST_CASE("a stream does not get memory that another one freed and it is not ordered after") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Gate gate(a);
    Array<int> x = full<int>(a, n, 1);
    const int* const at = x.data();
    x.reset();
    const Array<int> y = full<int>(b, n, 2);
    CHECK(y.data() != at);
    CHECK(to_host(b, y) == Ints(n, 2));  // returns although the gate is closed
}

TEST_CASE("a stream gets memory that a stream freed before it was waited for") {
    SKIP_IF_POISONED();
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Gate gate(a);
    Array<int> x = full<int>(a, n, 1);
    const int* const at = x.data();
    x.reset();
    b.wait_stream(a);
    const Array<int> y = full<int>(b, n, 2);
    CHECK(y.data() == at);
    gate.open();
    CHECK(to_host(b, y) == Ints(n, 2));
}

TEST_CASE("a wait counts for the memory that was freed before it, and for no other") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = full<int>(a, n, 1);
    const int* const at = x.data();
    b.wait_stream(a);
    Gate gate(a);
    launch(a, Add{}, dim(n), x, 1);
    x.reset();
    const Array<int> y = full<int>(b, n, 2);
    CHECK(y.data() != at);
    CHECK(to_host(b, y) == Ints(n, 2));
}

TEST_CASE("of several users the one that is ordered after the others keeps the memory") {
    SKIP_IF_POISONED();
    const Drained drained;
    const Stream a(test_device()), b(test_device()), c(test_device());
    Gate gate(a);
    Array<int> x = full<int>(a, n, 1);
    const int* const at = x.data();
    b.wait_stream(a);
    launch(b, Add{}, dim(n), x, 1);
    x.reset();
    const Array<int> of_c = empty<int>(c, n), of_a = empty<int>(a, n), of_b = empty<int>(b, n);
    CHECK(of_c.data() != at);
    CHECK(of_a.data() != at);
    CHECK(of_b.data() == at);
}

TEST_CASE("no user keeps memory that another one may still use") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = full<int>(a, n, 1);
    const int* const at = x.data();
    b.wait_stream(a);
    launch(b, Add{}, dim(n), x, 1);
    b.synchronize();
    Gate gate(a);
    launch(a, Add{}, dim(n), x, 1);  // no wait orders b after this, or a after b
    x.reset();
    const Array<int> of_a = empty<int>(a, n), of_b = empty<int>(b, n);
    CHECK(of_a.data() != at);
    CHECK(of_b.data() != at);
}

TEST_CASE("streams that exchange arrays use two pieces of memory again and again") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> sum = zeros<int>(b, n);
    const MemoryStats before = memory_stats(test_device());
    for (int i = 0; i < 100; ++i) {
        const Array<int> x = full<int>(a, n, i);
        b.wait_stream(a);
        launch(b, AddTo{}, dim(n), x, sum);
        a.wait_stream(b);
        if (HEDDLE_TEST_SANITIZED) a.synchronize();
    }
    CHECK(to_host(b, sum) == Ints(n, 4950));
    CHECK(memory_stats(test_device()).cache_misses - before.cache_misses <= 4);
}

TEST_CASE("what one stream frees and never uses does not add up while another makes arrays") {
    const Drained drained;
    const Stream maker(test_device()), user(test_device());
    const std::size_t before = held();
    for (int i = 0; i < 1000; ++i) {
        Array<int> x = full<int>(maker, n, 1);
        const Event made = maker.record_event();
        user.wait_stream(maker);
        launch(user, Add{}, dim(n), x, 1);
        user.synchronize();  // heddle does not count `maker` as ordered after this
    }
    CHECK(held() <= before + 100 * n * sizeof(int));
}

TEST_CASE("memory that is used again is at most an eighth larger than what is asked for") {
    const Stream s(test_device());
    const int* const at = free_one(s, 64 * 1000);
    {
        const Array<int> smaller = empty<int>(s, 64 * 970);  // of the same size class
        CHECK(smaller.data() == at);
    }
    const Array<int> small = empty<int>(s, 64 * 800);
    CHECK(small.data() != at);
    const int* const less = free_one(s, 64 * 2000);
    const Array<int> more = empty<int>(s, 64 * 2020);  // of the same size class
    CHECK(more.data() != less);
    for (std::size_t size = 1; size < std::size_t{1} << 39; size += size / 100 + 1) {
        const std::size_t whole = detail::whole_size(size);
        CHECK(whole >= size);
        CHECK(whole - size <= std::max<std::size_t>(63, size / 64));
        CHECK(detail::whole_size(whole) == whole);
        const int of = detail::size_class(whole);
        CHECK(of >= 0);
        CHECK(of < detail::size_class_count);
        CHECK(detail::size_class(detail::whole_size(whole * 9 / 8 + 64)) > of);
    }
}

TEST_CASE("a stream that ends gives back what it has kept, and so does trim_pool") {
    const Device device = test_device();
    const Drained drained;
    trim_pool(device);
    CHECK(held() == 0);
    {
        const Stream s(device);
        free_one(s);
        CHECK(held() >= n * sizeof(int));
    }
    CHECK(held() == 0);
    const Stream s(device);
    for (int i = 0; i < 3; ++i) {
        free_one(s);
        CHECK(held() >= n * sizeof(int));
        const std::size_t used = memory_stats(device).in_use;
        trim_pool(device);
        CHECK(held() == 0);
        CHECK(memory_stats(device).in_use == used);
    }
}

TEST_CASE("what a stream freed before it ended is waited for before it is used elsewhere") {
    const Drained drained;
    const Stream b(test_device());
    Gate gate;
    Array<int> x;
    {
        const Stream a(test_device());
        gate.hold(a);
        x = full<int>(a, n, 1);
        x.reset();
    }
    const Array<int> y = full<int>(b, n, 2);
    CHECK(to_host(b, y) == Ints(n, 2));
    gate.open();
    synchronize_device(test_device());
    CHECK(to_host(b, y) == Ints(n, 2));
}

TEST_CASE("statistics tell what is used, what was, and what is kept") {
    const Device device = test_device();
    const Drained drained;
    const Stream s(device);
    trim_pool(device);
    synchronize_device(device);
    reset_peak_memory_stats(device);
    const MemoryStats before = memory_stats(device);
    constexpr std::size_t bytes = 16 << 20;
    {
        const Array<std::byte> x = empty<std::byte>(s, bytes), y = empty<std::byte>(s, bytes);
        CHECK(memory_stats(device).in_use >= before.in_use + 2 * bytes);
        CHECK(memory_stats(device).cache_misses == before.cache_misses + 2);
    }
    CHECK(memory_stats(device).cached >= before.cached + 2 * bytes);
    CHECK(memory_stats(device).in_use < before.in_use + bytes);
    const Array<std::byte> z = empty<std::byte>(s, bytes);
    const MemoryStats now = memory_stats(device);
    CHECK(now.cache_hits == before.cache_hits + 1);
    CHECK(now.cached < before.cached + 2 * bytes);
    CHECK(now.peak >= before.in_use + 2 * bytes);
    CHECK(now.peak < before.in_use + 3 * bytes);
    reset_peak_memory_stats(device);
    CHECK(memory_stats(device).peak < before.in_use + 2 * bytes);
}

TEST_CASE("captures and batches neither take what streams keep nor add to it") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> out = zeros<int>(s, 1);
    Batch batches({.on_cpu = true});
    Array<int> x = zeros<int>(s, n);
    free_one(s);
    const MemoryStats before = memory_stats(test_device());
    {
        Graph graph = capture(s, [&] {
            const Array<int> own = zeros<int>(s, n);
            launch(s, AddTo{}, dim(1), own, out);
            x.reset();
        });
        graph.launch(s);
    }
    {
        const ScopedStream in(s);
        const ScopedBatch batch(batches);
        const Array<int> own = zeros<int>(s, n);
        launch(s, AddTo{}, dim(1), own, out);
    }
    const MemoryStats after = memory_stats(test_device());
    CHECK(after.cached == before.cached);
    CHECK(after.cache_hits == before.cache_hits);
    CHECK(to_host(s, out) == Ints(1, 0));
}

TEST_CASE("an array that a batch has recorded is not used again before that has run") {
    const Drained drained;
    const Stream s(test_device());
    Batch batches({.on_cpu = true});
    Array<int> sum = zeros<int>(s, n), x = full<int>(s, n, 1);
    {
        const ScopedStream in(s);
        const ScopedBatch batch(batches);
        launch(s, AddTo{}, dim(n), x, sum);
        x.reset();
        for (int i = 0; i < 3; ++i) {
            const Array<int> y = full<int>(s, n, 5);
        }
    }
    CHECK(to_host(s, sum) == Ints(n, 1));
}

TEST_CASE("a stream that has failed keeps nothing") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, n);
    launch_host(s, [] { throw std::runtime_error("meant"); });
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    const std::size_t before = held();
    x.reset();
    CHECK(held() == before);
    (void)s.clear_error();
    free_one(s);
    CHECK(held() > before);
}

TEST_CASE("a view of freed memory is refused, also once another array has the memory") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, n);
    const View<int> stale = x.view();
    s.synchronize();
    x.reset();
    const Array<int> y = zeros<int>(s, n);
    CHECK(y.data() == stale.data());
    CHECK(thrown_by([&] { launch(s, Add{}, dim(n), stale, 1); }).code() == ErrorCode::usage);
    CHECK(to_host(s, y) == Ints(n, 0));
}

TEST_CASE("observers see a free and an allocation where memory is used again") {
    const Stream s(test_device());
    s.synchronize();
    const OpCounter counted;
    const int* const at = free_one(s);
    const Array<int> y = empty<int>(s, n);
    CHECK(y.data() == at);
    CHECK(counted.stats().allocations == 2);
    CHECK(counted.stats().frees == 1);
}

TEST_CASE("memory of one device is not kept by a stream of another that used it") {
    const std::vector<Device> all = test_devices();
    if (all.size() < 2) HEDDLE_SKIP("needs two devices");
    if (!all[1].can_access_pool(all[0])) HEDDLE_SKIP("these two devices cannot reach each other");
    const Drained drained;
    const ScopedPoolAccess access(all[0], all[1]);
    const Stream on_1(all[1]);
    Array<int> x;
    {
        const Stream on_0(all[0]);
        x = zeros<int>(on_0, n);
        on_0.synchronize();
    }
    launch(on_1, Add{}, dim(n), x, 1);  // the only user that still exists
    const std::size_t before = memory_stats(all[1]).cached;
    x.reset();
    CHECK(memory_stats(all[1]).cached == before);
    CHECK(empty<int>(on_1, n).device() == all[1]);
}

TEST_CASE("kept memory is per cent of the device's, and none with HEDDLE_MEMORY_KEPT=0") {
    const ChildResult none = run_test_case("keeps nothing", {"HEDDLE_MEMORY_KEPT=0"});
    INFO(none.output);
    CHECK(none.status == 0);
    check_test_case("keeps a hundredth", {"HEDDLE_MEMORY_KEPT=1"});
}
TEST_CASE("keeps nothing", "[.]") {
    const Stream s(test_device());
    for (int i = 0; i < 3; ++i) free_one(s);
    CHECK(held() == 0);
    CHECK(memory_stats(test_device()).cache_hits == 0);
}
TEST_CASE("keeps a hundredth", "[.]") {
    const std::size_t most = test_device().info().total_memory / 100 /
                             (test_device().is_cpu() ? test_devices().size() : 1);
    const std::size_t bytes = most / 5;
    const Stream s(test_device());
    std::size_t seen = 0;
    for (int round = 0; round < 3; ++round) {
        std::vector<Array<std::byte>> some;
        for (int i = 0; i < 8; ++i) some.push_back(empty<std::byte>(s, bytes));
        while (!some.empty()) {
            some.pop_back();
            CHECK(held() <= most);
            seen = std::max(seen, held());
        }
    }
    CHECK(seen >= most / 2);
    const std::size_t before = held();
    { const Array<std::byte> large = empty<std::byte>(s, most * 2); }
    CHECK(held() == before);
}

TEST_CASE("kept memory is returned before an allocation fails") {
    if (test_device().is_cuda()) HEDDLE_SKIP("see tests/cuda/kept_memory_test.cu");
    if (HEDDLE_TEST_SANITIZED) HEDDLE_SKIP("sanitizers need address space");
    check_test_case("gives back when short", {"HEDDLE_MEMORY_KEPT=100"});
}
TEST_CASE("gives back when short", "[.]") {
    constexpr std::size_t bytes = std::size_t{1} << 30;
    const Stream s(test_device()), other(test_device());
    { const Array<std::byte> first = empty<std::byte>(other, bytes); }
    CHECK(held() >= bytes);
    rlimit limit{};
    std::size_t pages = 0;
    REQUIRE(std::ifstream("/proc/self/statm") >> pages);
    limit.rlim_cur = limit.rlim_max = pages * 4096 + (bytes / 2);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    const Array<std::byte> second = empty<std::byte>(s, bytes + bytes / 4);
    CHECK(held() == 0);
    CHECK_THROWS_AS(empty<std::byte>(s, bytes), OutOfMemory);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("AddressSanitizer sees an access to freed memory of a CPU device") {
    if (test_device().is_cuda()) HEDDLE_SKIP("AddressSanitizer does not see GPUs");
    const ChildResult child = run_test_case("writes freed memory");
    INFO(child.output);
    CHECK(child.status != 0);
    CHECK(child.output.find("use-after-poison") != std::string::npos);
}
TEST_CASE("writes freed memory", "[.]") {
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, n);
    int* const at = x.data();
    x.reset();
    CHECK(held() != 0);
    at[n / 2] = 1;
}
#endif
