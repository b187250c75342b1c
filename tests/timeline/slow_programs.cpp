#include "timeline/slow_programs.hpp"

#include <chrono>
#include <cstdint>
#include <thread>

#include <heddle/observe/timeline.hpp>

#include "gpu_clock.hpp"
#include "support.hpp"
#include "timeline/slow_traces.hpp"

namespace heddle_test {

namespace {

using namespace std::chrono_literals;

HEDDLE_FN void burn(int us) {
#if defined(__CUDA_ARCH__)
    const std::uint64_t end = now_on_gpu() + static_cast<std::uint64_t>(us) * 1000;
    while (now_on_gpu() < end) {}
#else
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (std::chrono::steady_clock::now() < end) {}
#endif
}

/// Spins for `us` microseconds, and changes x.
struct Burn {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, int us) const {
        burn(us);
        x[i] += 1;
    }
};

/// Spins for `us` microseconds, and changes x by the values in y.
struct BurnFrom {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, View<const float> y, int us) const {
        burn(us);
        x[i] += y[i];
    }
};

/// The same, but reads from an address, so the memory is unknown to heddle.
struct BurnAt {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, const float* y, int us) const {
        burn(us);
        x[i] += y[i];
    }
};

/// A kernel that is so short that its launch takes the host longer.
struct Sum {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, View<const float> a,
                              View<const float> b, View<const float> c, View<const float> d) const {
        x[i] = a[i] + b[i] + c[i] + d[i];
    }
};

struct Increment {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};

Stream stream(const char* name) { return Stream{test_device(), {.priority = 0, .name = name}}; }

constexpr std::size_t many = 4 << 20;  ///< in floats; a copy takes a few milliseconds

// Programs that cannot be improved: the work itself takes the time.

void work_in_a_row() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < 20; ++i) launch(s, Burn{}, dim(1), x, 2000);
    s.synchronize();
}

void work_that_is_read() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) launch(s, Burn{}, dim(1), x, 2000);
        static_cast<void>(to_host(s, x));
    }
}

void work_that_is_copied() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    std::vector<float> pageable(1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) launch(s, Burn{}, dim(1), x, 2000);
        copy(s, std::span<float>(pageable), x);
    }
}

void work_whose_event_is_polled() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) launch(s, Burn{}, dim(1), x, 2000);
        const Event done = s.record_event();
        while (!done.is_complete()) std::this_thread::sleep_for(100us);
    }
}

void work_whose_stream_is_polled() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) launch(s, Burn{}, dim(1), x, 2000);
        while (!s.is_complete()) std::this_thread::yield();
    }
}

void two_streams_that_are_polled_by_turns() {
    const Stream a = stream("a"), b = stream("b");
    Array<float> x = zeros<float>(a, 1), y = zeros<float>(b, 1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) {
            launch(a, Burn{}, dim(1), x, 2000);
            launch(b, Burn{}, dim(1), y, 1000);
        }
        bool is_a = false, is_b = false;
        while (!is_a || !is_b) {
            is_a = is_a || a.is_complete();
            is_b = is_b || b.is_complete();
            std::this_thread::sleep_for(50us);
        }
    }
}

void streams_side_by_side() {
    const Stream a = stream("a"), b = stream("b");
    Array<float> x = zeros<float>(a, 1), y = zeros<float>(b, 1);
    for (int i = 0; i < 20; ++i) {
        launch(a, Burn{}, dim(1), x, 2000);
        launch(b, Burn{}, dim(1), y, 2000);
    }
    a.synchronize();
    b.synchronize();
}

void chains_that_cross_on_one_stream() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1), y = zeros<float>(s, 1);
    for (int i = 0; i < 10; ++i) {
        launch(s, BurnFrom{}, dim(1), x, y, 2000);
        launch(s, BurnFrom{}, dim(1), y, x, 2000);
    }
    s.synchronize();
}

void waits_for_memory_behind_an_address() {
    const Stream a = stream("a"), b = stream("b");
    Array<float> x = zeros<float>(a, 1), y = zeros<float>(b, 1), z = zeros<float>(b, 1);
    for (int i = 0; i < 10; ++i) {
        b.wait_stream(a);
        launch(b, BurnAt{}, dim(1), y, x.data(), 2000);
        a.wait_stream(b);
        launch(a, BurnAt{}, dim(1), x, y.data(), 2000);
    }
    a.synchronize();
    b.synchronize();
}

// Programs that spend time on the host.

void host_that_enqueues_one_by_one() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    const Array<float> a = zeros<float>(s, 1), b = zeros<float>(s, 1), c = zeros<float>(s, 1),
                       d = zeros<float>(s, 1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5000; ++i) launch(s, Sum{}, dim(1), x, a, b, c, d);
        s.synchronize();
    }
}

void host_that_waits_between_launches() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < 500; ++i) {
        launch(s, Increment{}, dim(1), x);
        s.synchronize();
    }
}

void host_that_reads_between_launches() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < 500; ++i) {
        launch(s, Increment{}, dim(1), x);
        static_cast<void>(to_host(s, x));
    }
}

void host_that_polls_between_launches() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < 500; ++i) {
        launch(s, Increment{}, dim(1), x);
        while (!s.is_complete()) std::this_thread::yield();
    }
}

void host_that_computes_between_launches() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, 1);
    for (int i = 0; i < 20; ++i) {
        burn(2000);
        launch(s, Burn{}, dim(1), x, 100);
    }
    s.synchronize();
}

// Programs that copy memory.

void copies_of_pageable_memory() {
    const Stream s = stream("s");
    Array<float> x = zeros<float>(s, many);
    const std::vector<float> pageable(many);
    for (int i = 0; i < 8; ++i) {
        copy(s, x, std::span<const float>(pageable));
        launch(s, Increment{}, dim(1), x);
    }
    s.synchronize();
}

void copies_and_kernels_by_turns() {
    const Stream up = stream("up"), s = stream("s");
    Array<float> x = zeros<float>(up, many);
    Array<float> y = zeros<float>(s, 1);
    const Array<float> chunk = pinned<float>(many);
    for (int i = 0; i < 10; ++i) {
        copy(up, x, chunk);
        s.wait_stream(up);
        launch(s, BurnFrom{}, dim(1), y, x, 2000);
        up.wait_stream(s);
    }
    up.synchronize();
    s.synchronize();
}

// Programs with needless order.

void waits_without_a_reason() {
    const Stream a = stream("a"), b = stream("b");
    Array<float> x = zeros<float>(a, 1), y = zeros<float>(b, 1);
    for (int i = 0; i < 10; ++i) {
        launch(a, Burn{}, dim(1), x, 2000);
        b.wait_stream(a);
        launch(b, Burn{}, dim(1), y, 2000);
        a.wait_stream(b);
    }
    a.synchronize();
    b.synchronize();
}

void waits_for_a_whole_stream() {
    const Stream a = stream("a"), b = stream("b");
    Array<float> x = zeros<float>(a, 1), z = zeros<float>(a, 1);
    Array<float> y = zeros<float>(b, 1);
    for (int i = 0; i < 10; ++i) {
        launch(a, Burn{}, dim(1), x, 300);
        launch(a, Burn{}, dim(1), z, 3000);
        b.wait_stream(a);
        launch(b, BurnFrom{}, dim(1), y, x, 2000);
        a.wait_stream(b);
    }
    a.synchronize();
    b.synchronize();
}

void chains_on_one_stream() {
    const Stream s = stream("s");
    std::vector<Array<float>> chains;
    for (int i = 0; i < 4; ++i) chains.push_back(zeros<float>(s, 1));
    for (int i = 0; i < 10; ++i)
        for (Array<float>& x : chains) launch(s, Burn{}, dim(1), x, 1000);
    s.synchronize();
}

// Programs for the workers of CPU devices.

void more_streams_than_workers() {
    std::vector<Stream> streams;
    std::vector<Array<float>> arrays;
    const int count = 4 * cpu_workers();
    for (int i = 0; i < count; ++i) {
        streams.push_back(stream("s"));
        arrays.push_back(zeros<float>(streams.back(), 1));
    }
    for (int i = 0; i < 4; ++i)
        for (std::size_t k = 0; k < streams.size(); ++k)
            launch(streams[k], Burn{}, dim(1), arrays[k], 2000);
    for (const Stream& s : streams) s.synchronize();
}

const std::string work = "The work itself is the biggest reason", mend = "Fix first",
                  round_trips = "the host waits between launches",
                  enqueuing = "small operations, enqueued one by one",
                  pageable = "copies of pageable memory", own = "the program's own code";

}  // namespace

const std::vector<SlowProgram>& slow_programs() {
    static const std::vector<SlowProgram> all{
        {"work in a row", work_in_a_row, slow_traces::work_in_a_row, {work}, {mend, own}},
        {"work that is read",
         work_that_is_read,
         slow_traces::work_that_is_read,
         {work},
         {mend, own}},
        {"work that is copied",
         work_that_is_copied,
         slow_traces::work_that_is_copied,
         {work},
         {mend, own}},
        {"work whose event is polled",
         work_whose_event_is_polled,
         slow_traces::work_whose_event_is_polled,
         {work},
         {mend, own}},
        {"work whose stream is polled",
         work_whose_stream_is_polled,
         slow_traces::work_whose_stream_is_polled,
         {work},
         {mend, own}},
        {"two streams that are polled by turns",
         two_streams_that_are_polled_by_turns,
         slow_traces::two_streams_that_are_polled_by_turns,
         {work},
         {mend, own},
         2},
        {"streams side by side",
         streams_side_by_side,
         slow_traces::streams_side_by_side,
         {work},
         {mend, own},
         2},
        {"chains that cross on one stream",
         chains_that_cross_on_one_stream,
         slow_traces::chains_that_cross_on_one_stream,
         {work},
         {mend, own}},
        {"waits for memory behind an address",
         waits_for_memory_behind_an_address,
         slow_traces::waits_for_memory_behind_an_address,
         {work},
         {mend, own}},
        {"a host that enqueues one by one",
         host_that_enqueues_one_by_one,
         slow_traces::host_that_enqueues_one_by_one,
         {enqueuing, "fewer calls"},
         {round_trips, pageable}},
        {"a host that waits between launches",
         host_that_waits_between_launches,
         slow_traces::host_that_waits_between_launches,
         {round_trips},
         {enqueuing}},
        {"a host that reads between launches",
         host_that_reads_between_launches,
         slow_traces::host_that_reads_between_launches,
         {round_trips},
         {pageable, enqueuing}},
        {"a host that polls between launches",
         host_that_polls_between_launches,
         slow_traces::host_that_polls_between_launches,
         {round_trips},
         {own, enqueuing}},
        {"a host that computes between launches",
         host_that_computes_between_launches,
         slow_traces::host_that_computes_between_launches,
         {"The host is the biggest reason", own},
         {mend}},
        {"copies of pageable memory",
         copies_of_pageable_memory,
         slow_traces::copies_of_pageable_memory,
         {pageable},
         {round_trips}},
        {"copies and kernels by turns",
         copies_and_kernels_by_turns,
         slow_traces::copies_and_kernels_by_turns,
         {"copies and kernels alternate"},
         {"needless", pageable}},
        {"waits without a reason",
         waits_without_a_reason,
         slow_traces::waits_without_a_reason,
         {"waits that seem needless"},
         {own}},
        {"waits for a whole stream",
         waits_for_a_whole_stream,
         slow_traces::waits_for_a_whole_stream,
         {"waits for more than is needed", "Wait for an event"},
         {"needless", own}},
        {"chains on one stream",
         chains_on_one_stream,
         slow_traces::chains_on_one_stream,
         {"independent work is on one stream"},
         {own},
         2,
         false},
        {"more streams than workers",
         more_streams_than_workers,
         slow_traces::more_streams_than_workers,
         {"Too few workers are the biggest reason"},
         {mend},
         1,
         false},
    };
    return all;
}

}  // namespace heddle_test
