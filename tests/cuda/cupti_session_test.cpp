// How heddle uses CUPTI, with a CUPTI of the tests' own: no GPU is needed.
#include "fake_cupti.hpp"

#include "../observe/watch.hpp"
#include "cuda/cupti/session.hpp"
#include "cuda/observe/native_nodes.hpp"

using namespace heddle_test;
using heddle::detail::cu::CuptiApi;
using heddle::detail::cu::CuptiSession;
using heddle::detail::cu::NativeNodes;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

/// A session that has begun, and who sees what it tells.
struct Begun {
    FakeCupti cupti;
    CuptiSession session;
    Watch watch{{.times = true}};

    explicit Begun(std::size_t buffers = 64) : session(FakeCupti::functions(), buffers) {
        REQUIRE(session.begin() == "");
    }
    ~Begun() { session.end(); }
    /// This thread enqueues something for an operation. Returns the call's number.
    std::uint32_t enqueue(std::uint64_t operation) {
        session.push(operation);
        const std::uint32_t call = cupti.call();
        session.pop();
        return call;
    }
    /// Returns a moment so many nanoseconds after the begin.
    std::uint64_t at(std::uint64_t ns) const { return cupti.now + ns; }
    std::vector<OpRun> told() {
        session.tell();
        return watch.runs();
    }
};

}  // namespace

TEST_CASE("a kernel that CUPTI recorded has its operation's id, and its times") {
    Begun b;
    const std::uint32_t call = b.enqueue(7);
    b.cupti.ran(call, b.at(100), b.at(250));
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].id == 7);
    CHECK(runs[0].node == -1);
    CHECK(runs[0].start_ns == static_cast<std::int64_t>(b.at(100)));
    CHECK(runs[0].end_ns == static_cast<std::int64_t>(b.at(250)));
    CHECK(runs[0].clock == 0);
    CHECK(runs[0].measured_by == DeviceClock::cupti);
    b.session.tell();
    CHECK(b.watch.runs().size() == 1);  // told once
}

TEST_CASE("copies are found by the runtime's call too, and fills like kernels") {
    Begun b;
    const std::uint32_t outer = b.enqueue(3), inner = b.cupti.call();
    b.cupti.copied(inner, outer, b.at(1), b.at(2));
    b.cupti.filled(b.enqueue(4), b.at(3), b.at(4));
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].id == 3);
    CHECK(runs[1].id == 4);
}

TEST_CASE("CUPTI's records may come in any order, in any buffers") {
    Begun b;
    const std::uint32_t first = b.cupti.call_quietly(), second_call = b.cupti.call_quietly();
    b.cupti.ran(second_call, b.at(30), b.at(40));
    b.cupti.ran(first, b.at(10), b.at(20));
    CHECK(b.told().empty());  // whose they are is not known yet
    b.cupti.tell_call(first, 1);
    REQUIRE(b.told().size() == 1);
    CHECK(b.watch.runs()[0].id == 1);
    b.cupti.tell_call(second_call, 2);
    REQUIRE(b.told().size() == 2);
    CHECK(b.watch.runs()[1].start_ns == static_cast<std::int64_t>(b.at(30)));
}

TEST_CASE("one call may enqueue much, and one operation may take many calls") {
    Begun b;
    const std::uint32_t graph = b.enqueue(5);
    for (std::uint64_t i = 0; i < 3; ++i) b.cupti.ran(graph, b.at(i), b.at(i + 1));
    b.session.push(6);
    const std::uint32_t part = b.cupti.call(), other_part = b.cupti.call();
    b.session.pop();
    b.cupti.ran(part, b.at(10), b.at(11));
    b.cupti.ran(other_part, b.at(12), b.at(13));
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK(runs[i].id == (i < 3 ? 5 : 6));
}

TEST_CASE("others' work is not told, and counts as nothing lost") {
    Begun b;
    b.cupti.ran(b.cupti.call(), b.at(1), b.at(2));
    b.cupti.ran(4711, b.at(1), b.at(2));
    CHECK(b.told().empty());
    CHECK(b.session.counts().without_times == 0);
    CHECK(b.session.counts().dropped == 0);
}

TEST_CASE("records without times, or with impossible ones, are left out and counted") {
    Begun b;
    const std::uint32_t call = b.enqueue(7);
    b.cupti.ran(call, 0, 0);
    b.cupti.ran(call, b.at(5), 0);                      // it has not ended
    b.cupti.ran(call, b.at(9), b.at(8));                // it ended before it began
    b.cupti.ran(call, b.at(0) - 60 * second, b.at(1));  // long before
    b.cupti.ran(call, b.at(1), b.at(60 * second));      // long after
    b.cupti.ran(call, ~std::uint64_t{0}, ~std::uint64_t{0} - 1);
    CHECK(b.told().empty());
    CHECK(b.session.counts().without_times == 6);
    b.cupti.ran(call, b.at(1), b.at(1));
    CHECK(b.told().size() == 1);
}

TEST_CASE("records for which there is no buffer are counted, and later ones are told") {
    Begun b(2);
    const std::uint32_t call = b.enqueue(7);
    constexpr std::size_t many = 3 * (2 << 20) / sizeof(CUpti_ActivityKernel10);
    for (std::size_t i = 0; i < many; ++i) b.cupti.ran(call, b.at(i), b.at(i + 1));
    const std::size_t told = b.told().size(), dropped = b.session.counts().dropped;
    CHECK(told > 0);
    CHECK(dropped > 0);
    CHECK(told + dropped == many);
    for (int i = 0; i < 100; ++i) {  // buffers are used again
        b.cupti.ran(call, b.at(1), b.at(2));
        b.session.tell();
    }
    CHECK(b.watch.runs().size() == told + 100);
    CHECK(b.session.counts().dropped == dropped);
}

TEST_CASE("CUPTI records the kinds and calls that are needed, and nothing afterwards") {
    FakeCupti cupti;
    CuptiSession session(FakeCupti::functions());
    REQUIRE(session.begin() == "");
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1);
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_DRIVER) == 0);
    CHECK(cupti.recorded_calls().count(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch) == 1);
    session.end();
    CHECK(cupti.enabled().empty());
    CHECK(cupti.recorded_calls().empty());
    CHECK_FALSE(cupti.is_subscribed());
}

TEST_CASE("a CUPTI that cannot choose calls records all") {
    FakeCupti cupti;
    CuptiApi functions = FakeCupti::functions();
    functions.enable_driver_function = nullptr;
    functions.enable_runtime_function = nullptr;
    CuptiSession session(functions);
    REQUIRE(session.begin() == "");
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_DRIVER) == 1);
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_RUNTIME) == 1);
    session.end();
    CHECK(cupti.enabled().empty());
}

TEST_CASE("two recordings share CUPTI until both have ended") {
    Begun b;
    REQUIRE(b.session.begin() == "");
    b.session.end();
    CHECK(b.cupti.is_subscribed());
    b.cupti.ran(b.enqueue(7), b.at(1), b.at(2));
    CHECK(b.told().size() == 1);
    b.session.end();
    CHECK_FALSE(b.cupti.is_subscribed());
    b.session.end();  // one too many
    REQUIRE(b.session.begin() == "");
    b.cupti.ran(b.enqueue(8), b.at(1), b.at(2));
    CHECK(b.told().size() == 2);
}

TEST_CASE("a CUPTI that another profiler uses says so, and stays as it is") {
    FakeCupti cupti;
    CuptiSession first(FakeCupti::functions()), second_session(FakeCupti::functions());
    REQUIRE(first.begin() == "");
    CHECK(second_session.begin() == "another profiler or debugger is using it");
    CHECK(cupti.is_subscribed());
    first.end();
    CHECK(second_session.begin() == "");
    second_session.end();
}

TEST_CASE("what fails while CUPTI is set up is told, and undone") {
    for (const char* function : {"subscribe", "timestamp", "enable_callback"}) {
        FakeCupti cupti;
        cupti.fails[function] = CUPTI_ERROR_NOT_INITIALIZED;
        CuptiSession session(FakeCupti::functions());
        CHECK_THAT(session.begin(), contains("failed: as the test wants it"));
        CHECK_FALSE(cupti.is_subscribed());
        cupti.fails.clear();
        CHECK(session.begin() == "");
        session.end();
    }
    FakeCupti cupti;
    cupti.fails_to_enable = CUPTI_ACTIVITY_KIND_MEMSET;
    CuptiSession session(FakeCupti::functions());
    CHECK_THAT(session.begin(), contains("cuptiActivityEnable failed"));
    CHECK(cupti.enabled().empty());
    CHECK(cupti.recorded_calls().empty());
    CHECK_FALSE(cupti.is_subscribed());
}

TEST_CASE("at the end what has ended is told, and what has not is counted") {
    Begun b;
    b.cupti.keeps_incomplete = true;
    b.cupti.ran(b.enqueue(1), b.at(1), b.at(2));
    b.cupti.ran(b.enqueue(2), 0, 0);
    CHECK(b.told().empty());  // one record holds the buffer back
    b.session.end();
    REQUIRE(b.watch.runs().size() == 1);
    CHECK(b.watch.runs()[0].id == 1);
    CHECK(b.session.counts().without_times == 1);
}

TEST_CASE("buffers that CUPTI hands over after the end are nobody's") {
    Watch watch({.times = true});
    FakeCupti cupti;
    auto session = std::make_unique<CuptiSession>(FakeCupti::functions());
    REQUIRE(session->begin() == "");
    session->push(1);
    cupti.call();
    session->pop();
    session->end();
    const std::uint32_t call = 1;
    SECTION("another recording has begun") {
        REQUIRE(session->begin() == "");
        cupti.ran(call, cupti.now + 1, cupti.now + 2);
        session->tell();
        session->end();
    }
    SECTION("the session is gone") {
        REQUIRE(session->begin() == "");
        cupti.ran(call, cupti.now + 1, cupti.now + 2);
        session.reset();
        cupti.hand_over();
    }
    CHECK(watch.runs().empty());
}

TEST_CASE("a thread's calls nest, and a pair of calls may reach beyond the end") {
    Begun b;
    b.session.push(1);
    b.session.push(2);
    b.cupti.ran(b.cupti.call(), b.at(1), b.at(2));
    b.session.pop();
    b.cupti.ran(b.cupti.call(), b.at(3), b.at(4));
    CHECK(b.told().size() == 2);
    CHECK(b.watch.runs()[0].id == 2);
    CHECK(b.watch.runs()[1].id == 1);
    b.session.end();
    b.session.pop();
    REQUIRE(b.session.begin() == "");
    b.cupti.ran(b.cupti.call(), b.at(5), b.at(6));
    CHECK(b.told().size() == 2);  // no operation's
}

TEST_CASE("CUPTI's clock is told between two moments of the host") {
    struct Clocks final : Observer {
        std::vector<ClockReading> readings;
        void on_op(const OpInfo&) noexcept override {}
        void on_clock(const ClockReading& reading) noexcept override {
            readings.push_back(reading);
        }
    } clocks;
    add_observer(clocks, {.times = true});
    {
        FakeCupti cupti;
        CuptiSession session(FakeCupti::functions());
        REQUIRE(session.begin() == "");
        session.tell();
        session.end();
        remove_observer(clocks);
        REQUIRE(clocks.readings.size() == 3);
        for (const ClockReading& one : clocks.readings) {
            CHECK(one.device == -1);
            CHECK(one.clock == DeviceClock::cupti);
            CHECK(one.device_ns == static_cast<std::int64_t>(cupti.now));
            CHECK(one.before_ns <= one.after_ns);
            CHECK(one.before_ns > 0);
        }
    }
}

TEST_CASE("records of graphs name the node that they are of, whatever became of it") {
    Begun b;
    int native[8];  // their addresses stand for native nodes
    const auto id = [&](int i) { return reinterpret_cast<std::uint64_t>(&native[i]); };
    auto nodes = std::make_unique<NativeNodes>();
    {
        const NativeNodes::Building building(nodes.get());
        nodes->begin_node(0);
        b.cupti.make_node(&native[0]);
        nodes->begin_node(1);
        b.cupti.make_node(&native[1]);  // two native ones
        b.cupti.make_node(&native[2]);
        nodes->begin_node(2);
        b.cupti.copy_node(&native[3], &native[7]);  // a graph as a node: its nodes are copied
        nodes->begin_copies();
        b.cupti.copy_node(&native[4], &native[0]);
        b.cupti.copy_node(&native[5], &native[2]);
        b.cupti.copy_node(&native[6], &native[3]);
    }
    b.cupti.copy_node(&native[7], &native[0]);  // somebody else's
    const std::uint32_t call = b.enqueue(9);
    for (int i = 0; i < 8; ++i) b.cupti.ran(call, b.at(10), b.at(11), id(i));
    nodes.reset();
    const std::vector<OpRun> runs = b.told();
    REQUIRE(runs.size() == 8);
    const std::int64_t expected[] = {0, 1, 1, 2, 0, 1, 2, -1};
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(runs[i].id == 9);
        CHECK(runs[i].node == expected[i]);
    }
}

TEST_CASE("nodes of graphs that are gone are forgotten when there are very many") {
    constexpr std::uint64_t base = 1ull << 40;
    std::uint64_t made = 0;
    for (int graph = 0; graph < 300; ++graph) {
        NativeNodes nodes;
        const NativeNodes::Building building(&nodes);
        for (std::uint32_t i = 0; i < 1000; ++i) {
            nodes.begin_node(i);
            NativeNodes::note(&made, nullptr, base + made++);
        }
    }
    CHECK_FALSE(NativeNodes::find(base).has_value());
    CHECK(NativeNodes::find(base + made - 1) == 999u);
}

TEST_CASE("threads enqueue, CUPTI hands over, recordings come and go, and each run is told once") {
    Begun b;
    constexpr int threads = 4;
    constexpr std::uint64_t each = 3000;
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (std::uint64_t i = 1; i <= each; ++i) {
                const std::uint32_t call = b.enqueue(t * each + i);
                b.cupti.ran(call, b.at(i), b.at(i) + t);
            }
        });
    std::vector<std::thread> others;
    others.emplace_back([&] {  // CUPTI's own
        while (!stop) b.cupti.hand_over();
    });
    others.emplace_back([&] {  // the background
        while (!stop) CHECK_FALSE(b.session.poll());
    });
    others.emplace_back([&] {
        while (!stop) {
            if (!b.session.begin().empty()) FAIL("cannot begin");
            b.session.tell();
            b.session.end();
        }
    });
    for (std::thread& one : all) one.join();
    stop = true;
    for (std::thread& one : others) one.join();
    std::vector<int> told(threads * each + 1);
    for (const OpRun& run : b.told()) {
        ++told.at(run.id);
        const std::uint64_t i = (run.id - 1) % each + 1;
        if (run.start_ns != static_cast<std::int64_t>(b.at(i))) FAIL("wrong start of " << run.id);
    }
    for (std::size_t id = 1; id < told.size(); ++id)
        if (told[id] != 1) FAIL("operation " << id << " was told " << told[id] << " times");
    CHECK(b.session.counts().dropped == 0);
}

TEST_CASE("an old call is forgotten when there are many newer ones") {
    heddle::detail::cu::RecordMatcher matcher(100, 10);
    matcher.set_possible(0, 1000);
    for (std::uint32_t call = 1; call <= 300; ++call) matcher.add_call(call, call);
    matcher.add({.call = 1, .start_ns = 1, .end_ns = 2});
    matcher.add({.call = 250, .start_ns = 1, .end_ns = 2});
    const std::vector<OpRun> found = matcher.take();
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == 250);
    for (std::uint32_t i = 0; i < 50; ++i)  // as many records wait as there is room for
        matcher.add({.call = 1000 + i, .start_ns = 1, .end_ns = 2});
    for (std::uint32_t i = 0; i < 50; ++i) matcher.add_call(1000 + i, 1000 + i);
    CHECK(matcher.take().size() == 10);
}
