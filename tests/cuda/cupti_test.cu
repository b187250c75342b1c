// Recordings with CUPTI: times of operations on CUDA devices.
#include "cupti_recordings.cuh"

#include "cuda/cupti/api.hpp"

using namespace heddle_test;

namespace {

struct AddOne {
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const { x[i] += 1; }
};

std::int64_t middle_of(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
}

/// A subscription to CUPTI by code other than heddle.
class OtherProfiler {
public:
    OtherProfiler() : cupti_(heddle::detail::cu::load_cupti().functions) {
        const auto nothing = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
        REQUIRE(cupti_.subscribe(&subscriber_, nothing, nullptr) == CUPTI_SUCCESS);
    }
    ~OtherProfiler() { (void)cupti_.unsubscribe(subscriber_); }
    OtherProfiler(const OtherProfiler&) = delete;
    OtherProfiler& operator=(const OtherProfiler&) = delete;

private:
    const heddle::detail::cu::CuptiApi cupti_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace

TEST_CASE("cuda_events_against_cupti: kernels take as long by CUPTI as by events around them",
          "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    spin(s, us);
    s.synchronize();
    constexpr std::size_t count = 21;
    for (const std::int64_t length : {10 * us, 50 * us, 300 * us}) {
        INFO("kernels of " << length / us << " us");
        std::vector<Event> marks;
        for (std::size_t i = 0; i <= count; ++i)
            marks.emplace_back(gpu(), EventOptions{.timing = true});
        TimelineObserver observer({.cupti = true});
        {
            const Gate gate;  // holds the stream, so that the host is never late
            gate.hold(s);
            s.record_event(marks[0]);
            for (std::size_t i = 0; i < count; ++i) {
                spin(s, length);
                s.record_event(marks[i + 1]);
            }
        }
        s.synchronize();
        const Trace trace = observer.trace();
        INFO(all_notes(trace));
        CHECK(the_device(trace).clock == TraceClock::cupti);
        const std::vector<TraceOp> kernels = of_kind(trace, OpKind::launch);
        REQUIRE(kernels.size() == count);
        std::vector<std::int64_t> differences, gaps, of_ends;
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(kernels[i].start != unknown_moment);
            const auto between = [&](const Event& from, const Event& to) {
                return static_cast<std::int64_t>(1e6 * elapsed(from, to).count());
            };
            differences.push_back(between(marks[i], marks[i + 1]) -
                                  (kernels[i].end - kernels[i].start));
            if (i == 0) continue;
            gaps.push_back(kernels[i].start - kernels[i - 1].end);
            of_ends.push_back(
                std::abs(between(marks[i], marks[i + 1]) - (kernels[i].end - kernels[i - 1].end)));
        }
        CHECK(middle_of(differences) >= -us);
        // The interval between two events includes the time that the driver needs between kernels.
        // This is 2.8 us on an H200, and 2.8 to 4.2 us on H100s.
        CHECK(middle_of(gaps) > 0);
        CHECK(middle_of(differences) <= middle_of(gaps) + us);
        CHECK(middle_of(of_ends) <= 2 * us + us / 2);
    }
}

TEST_CASE("kernels recorded by CUPTI run between their calls and the host's wait", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    spin(s, us);
    s.synchronize();
    TimelineObserver observer({.cupti = true});
    for (int i = 0; i < 20; ++i) {
        spin(s, 20 * us);
        if (i % 4 == 3) s.synchronize();
    }
    const Trace trace = observer.trace();
    INFO(all_notes(trace));
    const std::int64_t error = the_device(trace).clock_error;
    CHECK(error <= us);
    const std::vector<TraceOp> kernels = of_kind(trace, OpKind::launch);
    const std::vector<TraceOp> waits = of_kind(trace, OpKind::synchronize);
    REQUIRE(kernels.size() == 20);
    REQUIRE(waits.size() == 5);
    for (std::size_t i = 0; i < 20; ++i) {
        REQUIRE(kernels[i].start != unknown_moment);
        CHECK(kernels[i].end - kernels[i].start >= 19 * us);
        CHECK(kernels[i].start >= kernels[i].call_begin - error);
        CHECK(kernels[i].end <= waits[i / 4].call_end + error);
        if (i != 0) CHECK(kernels[i].start >= kernels[i - 1].end - us);
    }
    CHECK(trace.notes.empty());
}

TEST_CASE("CUPTI tells when each kind of operation began and ended", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    constexpr std::size_t n = 1 << 18;
    Array<int> x = zeros<int>(s, n), y = zeros<int>(s, n);
    Array<double> wide = zeros<double>(s, n);
    auto host = pinned<int>(n);
    std::vector<int> pageable(n);
    s.synchronize();
    TimelineObserver observer({.cupti = true});
    launch(s, AddOne{}, dim(n), x);
    launch(s, AddOne{}, dim(n).with({.block = 64, .memory_domain = 1}), x);
    spin(s, us);
    copy(s, y, x);
    copy(s, host, x);
    copy(s, x, host);
    copy(s, x, View<const int>(pageable.data(), n));
    copy(s, View<int>(pageable.data(), n), x);
    fill(s, x, 0);
    fill(s, x, 7);
    fill(s, wide, 3.5);
    s.synchronize();
    const Trace trace = observer.trace();
    INFO(all_notes(trace));
    std::size_t count = 0;
    std::int64_t start = 0, end = 0;  // those of the previous operation
    for (const TraceOp& op : trace.ops) {
        if (op.kind != OpKind::launch && op.kind != OpKind::copy && op.kind != OpKind::fill)
            continue;
        INFO("operation " << count << ", " << trace.text(op.name));
        ++count;
        REQUIRE(op.start != unknown_moment);
        CHECK(op.start < op.end);
        // Operations of a stream begin and end in order. If processes share a GPU, an operation may
        // seem to begin before the previous one ends.
        CHECK(op.start >= start);
        CHECK(op.end >= end);
        start = op.start;
        end = op.end;
    }
    CHECK(count == 11);
}

TEST_CASE("cupti_taken_falls_back: beside another profiler, events tell the times", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    spin(s, us);
    s.synchronize();
    const auto record = [&] {
        TimelineObserver observer({.cupti = true});
        spin(s, 100 * us);
        s.synchronize();
        return observer.trace();
    };
    {
        const OtherProfiler other;
        const Trace trace = record();
        CHECK_THAT(all_notes(trace), contains("another profiler"));
        CHECK(the_device(trace).clock == TraceClock::events);
        REQUIRE(of_kind(trace, OpKind::launch).size() == 1);
        CHECK(of_kind(trace, OpKind::launch)[0].end != unknown_moment);
    }
    const Trace trace = record();
    CHECK(the_device(trace).clock == TraceClock::cupti);
    CHECK(all_notes(trace).find("profiler") == std::string::npos);
}

TEST_CASE("after a recording by CUPTI another profiler can use it, and events tell the times",
          "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    for (int i = 0; i < 3; ++i) {
        {
            const TimelineObserver by_cupti({.cupti = true});
            spin(s, 10 * us);
            s.synchronize();
            CHECK(the_device(by_cupti.trace()).clock == TraceClock::cupti);
        }
        const OtherProfiler other;
        const TimelineObserver by_events({});
        spin(s, 10 * us);
        s.synchronize();
        CHECK(the_device(by_events.trace()).clock == TraceClock::events);
    }
}

TEST_CASE("recordings by both clocks at the same time have each operation's times", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    TimelineObserver by_events({});
    spin(s, 20 * us);
    {
        TimelineObserver by_cupti({.cupti = true});
        spin(s, 20 * us);
        s.synchronize();
        REQUIRE(of_kind(by_cupti.trace(), OpKind::launch).size() == 1);
        CHECK(of_kind(by_cupti.trace(), OpKind::launch)[0].end != unknown_moment);
    }
    spin(s, 20 * us);
    s.synchronize();
    const std::vector<TraceOp> kernels = of_kind(by_events.trace(), OpKind::launch);
    REQUIRE(kernels.size() == 3);
    for (const TraceOp& op : kernels) CHECK(op.end != unknown_moment);
    CHECK(kernels[0].end <= kernels[1].end);
    CHECK(kernels[1].end <= kernels[2].end);
}

TEST_CASE("a recording by CUPTI ends while kernels run: nothing hangs, and they end", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu()), held(gpu());
    Gate gate(held);
    {
        TimelineObserver observer({.cupti = true});
        spin(s, 20 * us);
        spin(held, us);
        s.synchronize();
        observer.stop();
        const Trace trace = observer.trace();
        INFO(all_notes(trace));
        const std::vector<TraceOp> kernels = of_kind(trace, OpKind::launch);
        REQUIRE(kernels.size() == 2);
        CHECK(kernels[0].end != unknown_moment);
        CHECK(kernels[1].end == unknown_moment);
    }
    gate.open();
    held.synchronize();
}

TEST_CASE("recordings by CUPTI come and go while GPU streams work", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const BusyStreams busy([](int, const Stream& s) { s.synchronize(); });
    const auto times_of = [](const Trace& trace) {
        std::size_t count = 0;
        for (const TraceOp& op : of_kind(trace, OpKind::launch)) {
            if (op.start == unknown_moment) continue;
            ++count;
            if (op.end < op.start) FAIL("ends before it starts");
        }
        return count;
    };
    for (int i = 0; i < 10; ++i) {
        TimelineObserver observer({.cupti = true});
        CHECK(eventually([&] { return of_kind(observer.trace(), OpKind::launch).size() > 100; }));
        observer.stop();
        CHECK(times_of(observer.trace()) > 20);
    }
}
