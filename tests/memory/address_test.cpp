// Addresses within arrays, used without a view. They count as uses of the array: in stream order,
// in captures and in nodes. The array's memory lives until such uses are complete.
#include "core/memory/block_index.hpp"
#include "core/memory/block_records.hpp"
#include "kernel_launches.hpp"
#include "operation/watch.hpp"
#include "support.hpp"

#include <atomic>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 1000;

/// Returns a view of the same elements without a reference to the array.
template <class T> View<T> raw(Array<T>& x) { return {x.data(), x.size()}; }
template <class T> View<const T> raw_source(const Array<T>& x) { return {x.data(), x.size()}; }

/// Runs the call on another thread. Opens the gate after the call has returned. Returns whether the
/// call returned while the gate was closed.
template <class F> bool returns_at_once(Gate& gate, F&& call) {
    const Flag returned;
    bool in_time = false;
    std::thread opener([&] {
        in_time = returned.wait();
        gate.open();
    });
    call();
    returned.set();
    opener.join();
    return in_time;
}

/// Two arrays on a held stream. The held work will write 7 to `x`.
struct Held {
    Drained drained;
    Stream s{test_device()};
    Array<int> x = full<int>(s, n, 1), y = zeros<int>(s, n);
    Gate gate;
    Held() {
        s.synchronize();
        gate.hold(s);
        fill(s, x, 7);
    }
};

}  // namespace

TEST_CASE("a copy from an address within an array reads it in stream order") {
    Held h;
    SECTION("a view") { copy(h.s, h.y, raw_source(h.x)); }
    SECTION("a span") { copy(h.s, h.y, std::span<const int>(h.x.data(), n)); }
    SECTION("both sides") { copy(h.s, raw(h.y), raw_source(h.x)); }
    SECTION("a rectangle") {
        copy_2d(h.s, View2D(h.y.view(), 10, 100), View2D(raw_source(h.x), 10, 100));
    }
    h.gate.open();
    CHECK(to_host(h.s, h.y) == Ints(n, 7));
}

TEST_CASE("a copy to an address within an array does not wait for the stream") {
    Held h;
    CHECK(returns_at_once(h.gate, [&] { copy(h.s, raw(h.y), h.x); }));
    CHECK(to_host(h.s, h.y) == Ints(n, 7));
}

TEST_CASE("an address of pinned memory is read and written in stream order") {
    Held h;
    Array<int> p = pinned<int>(n), q = pinned<int>(n);
    std::fill(p.begin(), p.end(), 1);
    std::fill(q.begin(), q.end(), 1);
    copy(h.s, p, h.x);
    CHECK(returns_at_once(h.gate, [&] {
        copy(h.s, h.y, std::span<const int>(p.data(), n));
        copy(h.s, std::span<int>(q.data(), n), h.x);
    }));
    CHECK(to_host(h.s, h.y) == Ints(n, 7));
    CHECK(q[n - 1] == 7);
}

TEST_CASE("the users of a pageable array are waited for before the host reads an address in it") {
    DrainedGate gate;
    const Stream writer(cpu_device()), s(test_device());
    Array<int> host = pageable<int>(n), x = zeros<int>(s, n);
    std::fill(host.begin(), host.end(), 1);
    s.synchronize();
    gate.hold(writer);
    launch(writer, Set{}, dim(n), host, 2);
    s.wait_stream(writer);
    std::thread opener([&] { gate.open(); });
    copy(s, x, raw_source(host));
    opener.join();
    CHECK(to_host(s, x) == Ints(n, 2));
}

TEST_CASE("an array lives until copies and fills of its addresses have run") {
    DrainedGate gate;
    const Stream allocating(test_device()), s(test_device());
    Array<int> source = full<int>(allocating, n, 1), filled = zeros<int>(allocating, n),
               destination = zeros<int>(allocating, n), y = zeros<int>(s, n);
    allocating.synchronize();
    s.synchronize();
    gate.hold(s);
    copy(s, y, raw_source(source));
    copy(s, raw(destination), y);
    fill(s, raw(filled), 3);
    source.reset();
    destination.reset();
    filled.reset();
    // If memory were freed too early, these arrays would reuse it, and contents would be wrong.
    std::vector<Array<int>> next;
    for (int i = 0; i < 8; ++i) next.push_back(full<int>(allocating, n, 9));
    allocating.synchronize();
    gate.open();
    CHECK(to_host(s, y) == Ints(n, 1));
    for (const Array<int>& one : next) CHECK(to_host(allocating, one) == Ints(n, 9));
}

TEST_CASE("observers see which array an address is in") {
    const Here here;
    Array<int> x = zeros<int>(n), y = zeros<int>(n);
    Watch watch;
    copy(here.stream, raw(y).subview(10, 5), raw_source(x).first(5));
    fill(here.stream, raw(x), 1);
    const std::vector<Seen> seen = watch.take();
    const auto copies = of_kind(seen, OpKind::copy), fills = of_kind(seen, OpKind::fill);
    REQUIRE(copies.size() == 1);
    REQUIRE(copies[0].accesses.size() == 2);
    const auto allocation = [](const Array<int>& a) {
        return detail::allocation_of(detail::Access::block(a));
    };
    CHECK(copies[0].accesses[0].allocation == allocation(y));
    CHECK(copies[0].accesses[1].allocation == allocation(x));
    REQUIRE(fills.size() == 1);
    CHECK(fills[0].accesses[0].allocation == allocation(x));
    here.stream.synchronize();
}

TEST_CASE("addresses within arrays are captured, and are parts of nodes") {
    const Here here;
    Array<int> x = zeros<int>(n), y = zeros<int>(n), p = pinned<int>(n);
    Graph graph;
    SECTION("captured") {
        graph = capture(here.stream, [&] {
            fill(here.stream, raw(x), 5);
            copy(here.stream, raw(p), raw_source(x));
            copy(here.stream, raw(y), raw_source(p));
        });
    }
    SECTION("nodes") {
        auto filled = fill_node(raw(x), 5);
        auto out = copy_node(raw(p), raw_source(x)).after(filled);
        graph = copy_node(raw(y), raw_source(p)).after(out).build();
    }
    for (int i = 0; i < 2; ++i) graph.launch(here.stream);
    CHECK(to_host(here.stream, y) == Ints(n, 5));
    x.reset();
    CHECK_THROWS_AS(graph.launch(here.stream), UsageError);
}

TEST_CASE("a batch keeps an array whose addresses it has recorded") {
    const Here here;
    Array<int> x = full<int>(n, 3), y = zeros<int>(n);
    Batch batch;
    {
        const ScopedBatch in(batch);
        fill(here.stream, raw(x), 5);
        copy(here.stream, raw(y), raw_source(x));
        x.reset();
    }
    CHECK(to_host(here.stream, y) == Ints(n, 5));
}

TEST_CASE("the value of a condition may be an address within an array") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 1);
    Graph body = fill_node(x, 4).build();
    Graph graph = if_node(raw_source(value), body).build();
    graph.launch(here.stream);
    CHECK(to_host(here.stream, x) == Ints(10, 4));
}

TEST_CASE("to_host of an address within an array waits for the array's users") {
    const Here here;
    const Drained drained;
    Array<int> x = zeros<int>(n);
    here.stream.synchronize();
    Gate gate;
    const Stream side(test_device());
    gate.hold(side);
    launch(side, Add{}, dim(n), x, 7);
    const Flag begins;
    std::thread opener([&] {
        begins.wait();
        for (int i = 0; i < 2000; ++i) std::this_thread::yield();
        gate.open();
    });
    begins.set();
    CHECK(to_host(raw_source(x)) == Ints(n, 7));
    opener.join();
}

TEST_CASE("an address within an array is not taken for memory behind the array") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, n, 1), y = zeros<int>(s, n + 1);
    const OpCounter counted;
    const Error error = thrown_by([&] { copy(s, y, View<const int>(x.data(), n + 1)); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(mentions(error, "4004 bytes from byte 0 on exceed the array, which has 4000"));
    CHECK_THROWS_AS(fill(s, View<int>(x.data() + n - 1, 2), 0), UsageError);
    CHECK_THROWS_AS(
        copy_2d(s, View2D(y.view(), 2, 10, 991), View2D(View(x.data(), 2 * n), 2, 10, n)),
        UsageError);
    const unsigned line = __LINE__ + 1;
    const Error node = thrown_by([&] { (void)copy_node(y, View<const int>(x.data(), n + 1)); });
    CHECK(node.where().line == line);
    CHECK(counted.stats().copies == 0);
    CHECK(to_host(s, x) == Ints(n, 1));
}

TEST_CASE("the host's own memory is in no array, whatever arrays are made and freed beside it") {
    const Stream s(test_device());
    const Ints host(n, 1);
    for (int i = 0; i < 100; ++i) {
        const Array<int> x = empty<int>(s, n);
        CHECK(detail::find_block(host.data()) == nullptr);
        CHECK(detail::find_block(x.data()) == detail::Access::block(x));
    }
}

TEST_CASE("the array of an address is found, however arrays are made and freed") {
    const Stream s(test_device());
    std::mt19937 random(1);
    std::vector<Array<char>> all;
    std::vector<const char*> gone;
    int wrong = 0;
    for (int round = 0; round < 2000; ++round) {
        for (auto i = random() % 20; i > 0; --i) {
            if (all.size() < 10 || random() % 2 == 0) {
                all.push_back(empty<char>(s, 1 + random() % 5000));
            } else {
                const std::size_t one = random() % all.size();
                gone.push_back(all[one].data() + random() % all[one].size());
                std::swap(all[one], all.back());
                all.pop_back();
            }
        }
        if (all.empty()) continue;
        const Array<char>& x = all[random() % all.size()];
        wrong += detail::find_block(x.data()) != detail::Access::block(x);
        wrong += detail::find_block(x.data() + x.size() - 1) != detail::Access::block(x);
        if (gone.empty()) continue;
        const char* const address = gone[random() % gone.size()];
        const detail::Block* expected = nullptr;
        for (const Array<char>& one : all)
            if (!std::less<>()(address, one.data()) &&
                std::less<>()(address, one.data() + one.size()))
                expected = detail::Access::block(one);
        wrong += detail::find_block(address) != expected;
    }
    CHECK(wrong == 0);
}

TEST_CASE("an address that two arrays share is found as long as one of them is there") {
    static char memory[100];
    const auto make = [] {
        detail::Block& block = detail::take_block();
        block.data = memory;
        block.bytes = sizeof memory;
        block.alive.store(true);
        return &block;
    };
    const auto end = [](detail::Block* block) {
        block->alive.store(false);
        detail::give_block(*block);
    };
    detail::Block* const first = make();
    CHECK(detail::find_block(memory + 99) == first);
    detail::Block* const second = make();
    CHECK(detail::find_block(memory + 99) != nullptr);
    detail::Block* const third = make();
    end(first);
    const detail::Block* const found = detail::find_block(memory);
    CHECK((found == second || found == third));
    end(second);
    CHECK(detail::find_block(memory) == third);
    end(third);
    CHECK(detail::find_block(memory) == nullptr);
}

TEST_CASE("threads make, find and free arrays at once") {
    std::atomic<int> wrong{0};
    on_threads(4, [&wrong] {
        const Stream s(test_device());
        std::vector<Array<int>> mine;
        for (int i = 0; i < 2000; ++i) {
            mine.push_back(empty<int>(s, 16 + static_cast<std::size_t>(i) % 100));
            const Array<int>& x = mine[static_cast<std::size_t>(i) * 7 % mine.size()];
            if (i % 3 == 0) wrong += detail::find_block(x.data() + 5) != detail::Access::block(x);
            if (mine.size() > 20) mine.erase(mine.begin(), mine.begin() + 10);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("arrays that one thread makes and another frees use the same few records") {
    const Stream s(test_device());
    std::vector<Array<int>> arrays;
    std::set<const detail::Block*> records;
    const auto make = [&] {
        for (int i = 0; i < 50; ++i) {
            arrays.push_back(empty<int>(s, 16));
            records.insert(detail::Access::block(arrays.back()));
        }
    };
    for (int round = 0; round < 200; ++round) {
        make();
        std::thread([&] { arrays.clear(); }).join();
    }
    CHECK(records.size() < 500);
    for (int round = 0; round < 200; ++round) {
        std::thread(make).join();
        arrays.clear();
    }
    CHECK(records.size() < 5000);
}
