// The users of an array are streams. heddle's automatic waits cover all work that these streams
// have really enqueued, and no other streams.
#include "core/memory/users.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using namespace heddle_test;

namespace {

/// A thread that opens a gate soon after now() was called.
class OpensSoon {
public:
    explicit OpensSoon(Gate& gate)
        : thread_([this, &gate] {
              now_.wait();
              for (int i = 0; i < 2000; ++i) std::this_thread::yield();
              gate.open();
          }) {}
    ~OpensSoon() { thread_.join(); }
    void now() const { now_.set(); }

private:
    Flag now_;
    std::thread thread_;
};

/// Returns a new stream that got this record of a former stream. Returns nullopt if none does.
std::optional<Stream> stream_in(const void* record) {
    Stream stream(test_device(), {.name = "stranger"});
    for (int made = 1; &detail::Access::state(stream) != record && made < 200000; ++made)
        stream = Stream(test_device(), {.name = "stranger"});
    if (&detail::Access::state(stream) != record) return std::nullopt;
    return stream;
}

/// Returns whether an edge or a path orders node `later` of a graph after node `first`.
bool is_after(const std::vector<NodeInfo>& nodes, std::size_t later, std::size_t first) {
    std::vector<bool> reached(nodes.size(), false);
    reached[later] = true;
    for (std::size_t i = nodes.size(); i-- > 0;)
        if (reached[i])
            for (const std::size_t one : nodes[i].after) reached[one] = true;
    return reached[first];
}

}  // namespace

TEST_CASE("to_host waits for the work of a stream that was destroyed") {
    const Here here;
    const Drained drained;
    Array<int> x = zeros<int>(1000);
    here.stream.synchronize();
    Gate gate;
    {
        const Stream side(test_device());
        gate.hold(side);
        launch(side, Add{}, dim(1000), x, 7);
    }
    const OpensSoon opener(gate);
    opener.now();
    CHECK(to_host(x) == Ints(1000, 7));
}

TEST_CASE("to_host waits for the work of a thread that ended") {
    const Here here;
    const Drained drained;
    Array<int> x = zeros<int>(1000);
    here.stream.synchronize();
    Gate gate;
    std::thread([&] {
        const StreamRef own = Stream::per_thread(test_device());
        gate.hold(own);
        launch(own, Add{}, dim(1000), x, 7);
    }).join();
    const OpensSoon opener(gate);
    opener.now();
    CHECK(to_host(x) == Ints(1000, 7));
}

TEST_CASE("a copy from pageable memory waits for a stream that was destroyed and still writes it") {
    const Drained drained;
    const Stream reader(test_device());
    Array<int> x = pageable<int>(1000), out = zeros<int>(reader, 1000);
    std::fill(x.begin(), x.end(), 0);
    reader.synchronize();
    Gate gate;
    {
        const Stream side(cpu_device());
        gate.hold(side);
        launch(side, Add{}, dim(1000), x, 7);
    }
    const OpensSoon opener(gate);
    opener.now();
    copy(reader, out, x);
    CHECK(to_host(reader, out) == Ints(1000, 7));
}

TEST_CASE("to_host does not wait for a stream in the record of one that used the array") {
    const Drained drained;
    const Stream reader(test_device());
    Array<int> x = zeros<int>(reader, 4);
    const void* record = nullptr;
    {
        const Stream user(test_device());
        user.wait_stream(reader);
        launch(user, Add{}, dim(4), x, 1);
        user.synchronize();
        record = &detail::Access::state(user);
    }
    const std::optional<Stream> stranger = stream_in(record);
    if (!stranger) HEDDLE_SKIP("the record did not become another stream");
    const Gate gate(*stranger);
    const ScopedStream in(reader, {.wait_on_enter = false});
    CHECK(to_host(x) == Ints(4, 1));  // returns while the gate is closed
}

TEST_CASE("a graph with memory of its own does not wait for a stream in the record of one that "
          "launched it") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> out = zeros<int>(s, 1);
    Graph graph = capture(s, [&] {
        const Array<int> scratch = zeros<int>(s, 64);
        launch(s, Add{}, dim(1), out, 1);
    });
    const void* record = nullptr;
    {
        const Stream user(test_device());
        user.wait_stream(s);
        graph.launch(user);
        user.synchronize();
        record = &detail::Access::state(user);
    }
    const std::optional<Stream> stranger = stream_in(record);
    if (!stranger) HEDDLE_SKIP("the record did not become another stream");
    const Gate gate(*stranger);
    graph.launch(s);
    CHECK(to_host(s, out) == Ints(1, 2));  // returns while the gate is closed
}

TEST_CASE("to_host of an array that a capturing stream used before joins nothing") {
    const Drained drained;
    const Stream capturing(test_device()), reader(test_device());
    Array<int> x = full<int>(capturing, 10, 3), z = zeros<int>(capturing, 10);
    capturing.synchronize();
    ScopedCapture scope(capturing);
    fill(capturing, z, 1);
    std::thread([&] {
        const ScopedStream in(reader, {.wait_on_enter = false});
        CHECK(to_host(x) == Ints(10, 3));
        CHECK_FALSE(reader.is_capturing());
    }).join();
    CHECK(scope.end().size() == 1);
}

TEST_CASE("to_host waits for a capturing stream's work from before its capture") {
    const Drained drained;
    const Stream capturing(test_device()), reader(test_device());
    Array<int> x = ready_zeros<int>(capturing, 10);
    Gate gate(capturing);
    launch(capturing, Add{}, dim(10), x, 3);
    const ScopedCapture scope(capturing);
    const OpensSoon opener(gate);
    std::thread([&] {
        const ScopedStream in(reader, {.wait_on_enter = false});
        opener.now();
        CHECK(to_host(x) == Ints(10, 3));
    }).join();
}

TEST_CASE("launching a graph with memory of its own joins no capture of a stream that launched it "
          "before") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Array<int> out = zeros<int>(s, 1);
    Graph graph = capture(s, [&] {
        const Array<int> scratch = zeros<int>(s, 64);
        launch(s, Add{}, dim(1), out, 1);
    });
    other.wait_stream(s);
    graph.launch(other);
    other.synchronize();
    const Graph taken = capture(other, [&] {
        launch_host(other, [] {});
        graph.launch(s);
        CHECK_FALSE(s.is_capturing());
    });
    CHECK(taken.size() == 1);
    CHECK(to_host(s, out) == Ints(1, 2));
}

TEST_CASE("an array that forty streams use is freed when the last of them is done") {
    if (test_device().is_cuda()) HEDDLE_SKIP("the memory in use is the pool's affair there");
    const Drained drained;
    const Stream first(test_device());
    Gate gate;
    std::vector<Array<int>> copies;
    for (int i = 0; i < 40; ++i) copies.push_back(zeros<int>(first, 1));
    const std::size_t before = memory_stats(test_device()).in_use;
    std::vector<Stream> streams;
    {
        const Array<int> x = ready_zeros<int>(first, 1000);
        for (int i = 0; i < 40; ++i) {
            streams.emplace_back(test_device());
            if (i == 37) gate.hold(streams.back());
            launch(streams.back(), CopyKernel{}, dim(1), x, copies[static_cast<std::size_t>(i)]);
        }
        for (int i = 0; i < 40; ++i)
            if (i != 37) streams[static_cast<std::size_t>(i)].synchronize();
    }
    CHECK(memory_stats(test_device()).in_use > before);
    gate.open();
    streams[37].synchronize();
    synchronize_device(test_device());
    CHECK(memory_stats(test_device()).in_use == before);
}

TEST_CASE("an array that ever new streams use keeps few of them in mind") {
    const Drained drained;
    const Stream first(test_device());
    Array<int> x = ready_zeros<int>(first, 1);
    for (int i = 0; i < 3000; ++i) {
        const Stream passing(test_device());
        launch(passing, Add{}, dim(1), x, 1);
        passing.synchronize();
    }
    CHECK(to_host(first, x) == Ints(1, 3000));
}

TEST_CASE("a base of fork_join comes after what a branch waited for, though that wait was elided") {
    const Drained drained;
    const Stream x(cpu_device());
    Gate gate(x);
    launch_host(x, [] {});
    std::vector<Stream> bases;
    const OrderLog seen;
    for (int i = 0; i < 100; ++i) {
        bases.emplace_back(cpu_device());
        const ScopedStream in(bases.back());
        fork_join([&] { current_stream().wait_stream(x); });
        seen.note(bases.back(), "base");
    }
    finish_work(cpu_device());
    CHECK(seen.seen().empty());
    gate.open();
    for (const Stream& base : bases) base.synchronize();
    CHECK(seen.seen().size() == 100);
}

TEST_CASE("a graph with memory of its own, launched twice in a capture, never runs beside itself") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> in = zeros<int>(a, 1), result = zeros<int>(a, 1);
    Graph inner = capture(a, [&] {
        Array<int> scratch = empty<int>(a, 1);
        copy(a, scratch, in);
        copy(a, result, scratch);
    });
    const Graph outer = capture(a, [&] {
        b.wait_stream(a);
        inner.launch(a);
        inner.launch(b);
        a.wait_stream(b);
    });
    std::vector<std::size_t> copies;
    for (const NodeInfo& node : outer.nodes())
        if (node.kind == NodeKind::copy) copies.push_back(node.index);
    REQUIRE(copies.size() == 4);
    CHECK(is_after(outer.nodes(), copies[2], copies[1]));
}

TEST_CASE("child nodes of one graph with memory of its own never run side by side") {
    auto memory = alloc_node<int>(test_device(), 1);
    const Graph inner = fill_node(memory.view(), 1).after(memory).build();
    const Graph outer = build({child_node(inner), child_node(inner)});
    std::vector<std::size_t> fills;
    for (const NodeInfo& node : outer.nodes())
        if (node.kind == NodeKind::fill) fills.push_back(node.index);
    REQUIRE(fills.size() == 2);
    CHECK(is_after(outer.nodes(), fills[1], fills[0]));
}

TEST_CASE("an empty graph launched in a capture passes the order on") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Array<int> x = zeros<int>(s, 1), out = zeros<int>(s, 1);
    Graph nothing = capture(other, [] {});
    const Graph graph = capture(s, [&] {
        launch(s, Add{}, dim(1), x, 7);
        nothing.launch(s);
        copy(s, out, x);
    });
    CHECK(is_after(graph.nodes(), graph.size() - 1, 0));
}

TEST_CASE("memory freed in a capture is not taken over beside what a stream used it for that is "
          "gone") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> out = zeros<int>(100);
    const void *first = nullptr, *fresh = nullptr;
    const Graph graph = capture(
        [&] {
            Array<int> scratch = full<int>(100, 5);
            first = scratch.data();
            {
                const Stream gone(test_device());
                gone.wait_stream(s);
                copy(gone, out, scratch);
            }
            for (int i = 0; i < 1500; ++i) {
                const Stream passing(test_device());
                passing.wait_stream(s);
            }
            scratch.reset();
            const Array<int> next = empty<int>(100);
            fresh = next.data();
        },
        {.join = true});
    CHECK(first != fresh);
}

TEST_CASE("memory freed in a capture is not taken over beside a condition whose body uses it") {
    const Drained drained;
    const Stream s(test_device()), beside(test_device());
    Array<int> flag = full<int>(s, 1, 1), out = zeros<int>(s, 100);
    s.synchronize();
    const void *first = nullptr, *fresh = nullptr;
    const Graph graph = capture(s, [&] {
        beside.wait_stream(s);
        Array<int> x = full<int>(beside, 100, 1);
        first = x.data();
        s.wait_stream(beside);
        capture_if(s, flag, [&] {
            const Stream inside(test_device());
            inside.wait_stream(s);
            copy(inside, out, x);
            s.wait_stream(inside);
        });
        x.reset();
        const Array<int> y = full<int>(beside, 100, 7);  // no wait orders this after the condition
        fresh = y.data();
        s.wait_stream(beside);
    });
    CHECK(first != fresh);
}

TEST_CASE("memory freed in a capture is not taken over beside a stream on which its use was "
          "declared") {
    const Drained drained;
    const Stream s(test_device()), beside(test_device());
    const ScopedStream in(s);
    const void *first = nullptr, *fresh = nullptr;
    const Graph graph = capture(
        [&] {
            Array<int> x = full<int>(100, 5);
            first = x.data();
            beside.wait_stream(s);
            launch_host(beside, [data = x.data()] { (void)data; });
            x.used_on(beside);
            x.reset();
            const Array<int> next = empty<int>(100);
            fresh = next.data();
        },
        {.join = true});
    CHECK(first != fresh);
}

TEST_CASE("a use declared in a capture is one of each launch") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Gate gate;
    Array<int> x = pinned<int>(100);
    const int* const first = x.data();
    std::fill(x.begin(), x.end(), 5);
    Array<int> seen = pinned<int>(1);
    Graph graph = capture(s, [&] {
        launch_host(s, [data = x.data(), to = seen.data()] { *to = data[99]; });
        x.used_on(s);
    });
    const auto launch_and_free = [&](Graph launched) {
        gate.hold(other);
        launched.launch(other);
        x.reset();
        for (int i = 0; i < 4; ++i) {
            Array<int> again = pinned<int>(100);
            CHECK(again.data() != first);
            std::fill(again.begin(), again.end(), -1);
        }
        gate.open();
        other.synchronize();
        CHECK(seen[0] == 5);
    };
    SECTION("launched") { launch_and_free(std::move(graph)); }
    SECTION("cloned") { launch_and_free(graph.clone()); }
    SECTION("in another capture") {
        launch_and_free(capture(s, [&] { graph.launch(s); }));
    }
    SECTION("not after the array is gone") {
        x.reset();
        CHECK_THROWS_WITH(graph.launch(other), contains("uses an array that was destroyed"));
    }
}

TEST_CASE("to_host waits for a launch whose capture declared the use of the array") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Gate gate;
    Array<int> x = pinned<int>(1);
    x[0] = 1;
    Graph graph = capture(s, [&] {
        const Stream inner(test_device());  // is destroyed before the launch
        inner.wait_stream(s);
        launch_host(inner, [data = x.data()] { *data = 2; });
        x.used_on(inner);
        s.wait_stream(inner);
    });
    gate.hold(other);
    graph.launch(other);
    std::atomic<bool> is_open{false};
    std::thread opener([&] {
        is_open = true;
        gate.open();
    });
    const std::vector<int> seen = to_host(x);
    CHECK(is_open);
    CHECK(seen == Ints(1, 2));
    opener.join();
}

TEST_CASE("a wait for a stream or an event with nothing pending is never refused in a capture") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Array<int> x = zeros<int>(other, 10);
    const Event done = other.record_event();
    other.synchronize();
    const Graph graph = capture(s, [&] {
        s.wait_stream(other);
        s.wait_event(done);
        launch(s, Add{}, dim(10), x, 1);
    });
    CHECK(graph.size() == 1);
    CHECK_FALSE(other.is_capturing());
}

TEST_CASE("a captured stream waits for an idle one that has run host functions, but not for a "
          "failed one") {
    const Drained drained;
    const Stream s(test_device()), other(test_device()), bad(test_device());
    launch_host(other, [] {});
    other.synchronize();
    poison(bad);
    const Graph graph = capture(s, [&] {
        s.wait_stream(other);
        CHECK_THROWS_AS(s.wait_stream(bad), Error);
        launch_host(s, [] {});
    });
    CHECK(graph.size() == 1);
}

TEST_CASE("a copy without a stream is captured whatever devices its sides are on", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const Drained drained;
    const Device near = test_devices()[1], far = test_devices()[0];
    Array<int> there = full<int>(current_stream(far), 10, 3), history = pinned<int>(10);
    fill(history, 4);
    synchronize();
    const Stream s(near);
    const ScopedStream in(s);
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    s.synchronize();
    Graph graph = capture([&] {
        copy(x, there);
        copy(y, history);
    });
    CHECK_FALSE(current_stream(far).is_capturing());
    graph.launch();
    CHECK(to_host(x) == Ints(10, 3));
    CHECK(to_host(y) == Ints(10, 4));
}

TEST_CASE("a copy without a stream that a capture cannot order names the cure", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const Drained drained;
    const Device near = test_devices()[1], far = test_devices()[0];
    const Stream other(far);
    Array<int> there = full<int>(other, 10, 3);
    const Stream s(near);
    Gate gate(other);
    const ScopedStream beside(other);
    const ScopedStream in(s, {.wait_on_enter = false});
    Array<int> x = zeros<int>(s, 10);
    const Graph graph = capture(s, [&] {
        CHECK(mentions(error_of([&] { copy(x, there); }), "call copy(stream, to, from)"));
        launch(s, Add{}, dim(10), x, 1);
    });
    CHECK(graph.size() == 1);
    gate.open();
}

TEST_CASE("a launch on an array's thousandth stream looks at as many users as one on its first "
          "streams") {
    constexpr std::size_t streams = 1000;
    std::vector<Stream> all;
    Array<int> x = zeros<int>(Stream(cpu_device()), 1);
    synchronize_device(cpu_device());
    const detail::Block& block = *detail::Access::block(x);
    const auto read_for = [&](const Stream& s) {
        return detail::slots_read_for(block, detail::Access::state(s).key.load());
    };
    std::size_t total = 0, most = 0;
    for (std::size_t i = 0; i < streams; ++i) {
        all.emplace_back(cpu_device());
        if (i != 0) all[i].wait_stream(all[i - 1]);
        launch(all[i], Add{}, dim(1), x, 1);
    }
    for (const Stream& s : all) {
        total += read_for(s);
        most = std::max(most, read_for(s));
    }
    // In addition to the first few users, a query reads places of a hash table that is at most half
    // full. On average, it reads two.
    CHECK(read_for(all.front()) <= detail::Block::inline_users);
    CHECK(total <= streams * (detail::Block::inline_users + 4));
    CHECK(most <= 100);
    CHECK(to_host(all.back(), x) == Ints{streams});
}

TEST_CASE("memory that two owners release at the same time is freed once") {
    const Stream s(test_device());
    constexpr std::size_t size = 1000;
    for (std::size_t round = 0; round < repetitions(2000, 100); ++round) {
        Array<int> x;
        std::optional<Graph> graph(capture(s, [&] {
            x = empty<int>(s, size);
            fill(s, x, 1);
        }));
        const detail::Block& block = *detail::Access::block(x);
        const std::uint64_t allocation = detail::allocation_of(&block);
        std::atomic<int> ready{0};
        const auto together = [&ready](auto&& release) {
            ++ready;
            while (ready != 2) std::this_thread::yield();
            release();
        };
        std::thread other([&] { together([&] { graph.reset(); }); });
        together([&] {
            // The graph destroys its nodes first. With some of these delays, both threads release
            // the memory at the same time.
            for (std::atomic<std::size_t> spins{0}; spins < round % 400; ++spins) {}
            x = {};
        });
        other.join();
        // One thread must have freed the memory. If both had, two arrays would get the same memory.
        if (detail::allocation_of(&block) == allocation) CHECK_FALSE(block.alive.load());
        const Array<int> a = empty<int>(s, size), b = empty<int>(s, size);
        if (detail::Access::block(a) == detail::Access::block(b) || a.data() == b.data())
            FAIL("two arrays have one piece of memory");
    }
}

TEST_CASE("memory of a capture that two threads give back is offered to the capture once") {
    const Stream s(test_device());
    constexpr std::size_t size = 1000;
    std::size_t kept_back = 0;
    for (std::size_t round = 0; round < repetitions(1000, 50); ++round) {
        std::vector<const void*> used, used_again;
        bool twice = false;
        (void)capture(s, [&] {
            Array<int> x = empty<int>(s, size), y = empty<int>(s, size);
            fill(s, x, 1);
            fill(s, y, 1);
            used_again.assign({x.data(), y.data()});
            std::thread other([&] { x = {}; });
            y = {};
            other.join();
            std::vector<Array<int>> all;
            for (int i = 0; i < 4; ++i) {
                all.push_back(empty<int>(s, size));
                for (const void* one : used) twice |= one == all.back().data();
                used.push_back(all.back().data());
            }
            for (const void* one : used_again)
                if (std::ranges::find(used, one) == used.end()) ++kept_back;
        });
        if (twice) FAIL("two arrays of a capture have one piece of memory");
    }
    CHECK(kept_back == 0);  // both arrays are reused
}

TEST_CASE("a stream that reads an array and later writes it is one user of it") {
    Array<int> x, y = zeros<int>(test_device(), 10);
    const Stream reader(test_device());
    {
        const Stream maker(test_device());
        x = zeros<int>(maker, 10);
        reader.wait_stream(maker);
        reader.wait_stream(default_stream(test_device()));
        copy(reader, y, x);
    }
    reader.synchronize();
    finish_work(test_device());  // frees the slot of the maker
    fill(reader, x, 1);
    const detail::Users users(*detail::Access::block(x));
    CHECK(std::ranges::count_if(users.all(), [&](const detail::StreamUse& use) {
              return use.stream == &detail::Access::state(reader);
          }) == 1);
}
