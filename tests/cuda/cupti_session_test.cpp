// The begin and end of heddle's use of CUPTI. Uses a fake CUPTI.
#include "begun_cupti.hpp"

using namespace heddle_test;
using heddle::detail::cu::CuptiApi;
using heddle::detail::cu::CuptiSession;

TEST_CASE("records for which there is no buffer are counted, and later ones are told") {
    Begun b(2);
    const std::uint32_t call = b.enqueue(7);
    constexpr std::size_t many = 3 * (2 << 20) / sizeof(CUpti_ActivityKernel10);
    for (std::size_t i = 0; i < many; ++i) b.cupti.ran(call, b.at(i), b.at(i + 1));
    const std::size_t told = b.told().size(), dropped = b.session.counts().dropped;
    CHECK(told > 0);
    CHECK(dropped > 0);
    CHECK(told + dropped == many);
    for (int i = 0; i < 100; ++i) {  // so buffers must be reused
        b.cupti.ran(call, b.at(1), b.at(2));
        b.session.tell();
    }
    CHECK(b.watch.runs().size() == told + 100);
    CHECK(b.session.counts().dropped == dropped);
}

TEST_CASE("CUPTI records the kinds that are needed, and nothing afterwards") {
    FakeCupti cupti;
    CuptiSession session(FakeCupti::functions());
    REQUIRE(session.begin() == "");
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1);
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_DRIVER) == 1);
    CHECK(cupti.enabled().count(CUPTI_ACTIVITY_KIND_RUNTIME) == 1);
    session.end();
    CHECK(cupti.enabled().empty());
    CHECK_FALSE(cupti.is_subscribed());
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
    b.session.end();  // ends once more than it began
    REQUIRE(b.session.begin() == "");
    b.cupti.ran(b.enqueue(8), b.at(1), b.at(2));
    CHECK(b.told().size() == 2);
}

TEST_CASE("a CUPTI that another profiler uses says so, and stays as it is") {
    FakeCupti cupti;
    CuptiSession first(FakeCupti::functions()), second_session(FakeCupti::functions());
    REQUIRE(first.begin() == "");
    CHECK(second_session.begin() == "another profiler or debugger is using CUPTI");
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
    CHECK_FALSE(cupti.is_subscribed());
}

TEST_CASE("at the end what has ended is told, and what has not is counted") {
    Begun b;
    b.cupti.keeps_incomplete = true;
    b.cupti.ran(b.enqueue(1), b.at(1), b.at(2));
    b.cupti.ran(b.enqueue(2), 0, 0);
    CHECK(b.told().empty());  // an incomplete record delays its whole buffer
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
    CHECK(b.told().size() == 2);  // this record belongs to no operation
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

TEST_CASE("threads enqueue, CUPTI hands over, recordings come and go, and each run is told once") {
    // Each run is either reported or counted as lost. On a busy machine, no buffer may be free.
    Begun b;
    constexpr int threads = 4;
    constexpr std::uint64_t each = 3000;
    std::atomic<bool> stop{false};
    Threads all(threads, [&](std::uint64_t t) {
        for (std::uint64_t i = 1; i <= each; ++i) {
            const std::uint32_t call = b.enqueue(t * each + i);
            b.cupti.ran(call, b.at(i), b.at(i) + t);
            if (i % 16 == 0) b.session.tell();
        }
    });
    std::vector<std::thread> others;
    others.emplace_back([&] {  // stands for a thread of CUPTI
        while (!stop) b.cupti.hand_over();
    });
    others.emplace_back([&] {  // stands for heddle's background thread
        while (!stop) CHECK_FALSE(b.session.poll());
    });
    others.emplace_back([&] {
        while (!stop) {
            if (!b.session.begin().empty()) FAIL("cannot begin");
            b.session.tell();
            b.session.end();
        }
    });
    all.join();
    stop = true;
    for (std::thread& one : others) one.join();
    std::vector<int> told(threads * each + 1);
    for (const OpRun& run : b.told()) {
        ++told.at(run.id);
        const std::uint64_t i = (run.id - 1) % each + 1;
        if (run.start_ns != static_cast<std::int64_t>(b.at(i))) FAIL("wrong start of " << run.id);
    }
    std::uint64_t untold = 0;
    for (std::size_t id = 1; id < told.size(); ++id) {
        if (told[id] > 1) FAIL("operation " << id << " was told " << told[id] << " times");
        if (told[id] == 0) ++untold;
    }
    CHECK(untold <= b.session.counts().dropped);
}
