#include "timeline/slow_traces.hpp"

#include "timeline/timed_trace.hpp"

// Each function makes the same calls as the program with this name in slow_programs.cpp.
namespace heddle_test::slow_traces {

namespace {

constexpr Moment us = 1'000, ms = 1'000 * us;

/// Numbers for the device's memory: x is 1, y is 2, and so on.
constexpr std::uint64_t x = 1, y = 2, z = 3, chunk = 9;
constexpr std::uint64_t many = 16 << 20;  ///< in bytes
constexpr Moment copying = 3 * ms;        ///< time to copy `many` bytes
constexpr Moment tiny = 60;               ///< time of a kernel that adds

/// A program with one stream. First, it clears its memory.
struct OneStream : TimedTrace {
    TraceIndex s = stream("s");
    explicit OneStream(const TimedCosts& costs) : TimedTrace(costs) { zeros(s, x); }
};

/// A program that has two streams.
struct TwoStreams : TimedTrace {
    TraceIndex a = stream("a"), b = stream("b");
    explicit TwoStreams(const TimedCosts& costs) : TimedTrace(costs) {
        zeros(a, x);
        zeros(b, y);
    }
};

/// Enqueues work that takes 10 ms.
void enqueue_work(OneStream& t) {
    for (int i = 0; i < 5; ++i) t.launch(t.s, "Burn", 2 * ms, {.changes = {x}});
}

/// Calls to_host(x).
void read(OneStream& t) {
    t.copy_to_pageable(t.s, tiny, {.writes = {TimedTrace::pageable}, .reads = {x}, .bytes = 4});
    t.synchronize(t.s);
}

}  // namespace

Trace work_in_a_row(const TimedCosts& costs) {
    OneStream t(costs);
    for (int i = 0; i < 20; ++i) t.launch(t.s, "Burn", 2 * ms, {.changes = {x}});
    t.synchronize(t.s);
    return t.finish();
}

Trace work_that_is_read(const TimedCosts& costs) {
    OneStream t(costs);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t);
        read(t);
    }
    return t.finish();
}

Trace work_that_is_copied(const TimedCosts& costs) {
    OneStream t(costs);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t);
        t.copy_to_pageable(t.s, tiny, {.writes = {TimedTrace::pageable}, .reads = {x}, .bytes = 4});
    }
    return t.finish();
}

Trace work_whose_event_is_polled(const TimedCosts& costs) {
    OneStream t(costs);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t);
        t.record_event(t.s);
        t.poll({t.s}, 150 * us);
    }
    return t.finish();
}

Trace work_whose_stream_is_polled(const TimedCosts& costs) {
    OneStream t(costs);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t);
        t.poll({t.s}, us / 2);
    }
    return t.finish();
}

Trace two_streams_that_are_polled_by_turns(const TimedCosts& costs) {
    TwoStreams t(costs);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) {
            t.launch(t.a, "Burn", 2 * ms, {.changes = {x}});
            t.launch(t.b, "Burn", 1 * ms, {.changes = {y}});
        }
        t.poll({t.a, t.b}, 100 * us);
    }
    return t.finish();
}

Trace streams_side_by_side(const TimedCosts& costs) {
    TwoStreams t(costs);
    for (int i = 0; i < 20; ++i) {
        t.launch(t.a, "Burn", 2 * ms, {.changes = {x}});
        t.launch(t.b, "Burn", 2 * ms, {.changes = {y}});
    }
    t.synchronize(t.a);
    t.synchronize(t.b);
    return t.finish();
}

Trace chains_that_cross_on_one_stream(const TimedCosts& costs) {
    OneStream t(costs);
    t.zeros(t.s, y);
    for (int i = 0; i < 10; ++i) {
        t.launch(t.s, "BurnFrom", 2 * ms, {.changes = {x}, .reads = {y}});
        t.launch(t.s, "BurnFrom", 2 * ms, {.changes = {y}, .reads = {x}});
    }
    t.synchronize(t.s);
    return t.finish();
}

Trace waits_for_memory_behind_an_address(const TimedCosts& costs) {
    TwoStreams t(costs);
    t.zeros(t.b, z);
    for (int i = 0; i < 10; ++i) {
        t.wait_stream(t.b, t.a);
        t.launch(t.b, "BurnAt", 2 * ms, {.changes = {y}, .holds_pointers = true});
        t.wait_stream(t.a, t.b);
        t.launch(t.a, "BurnAt", 2 * ms, {.changes = {x}, .holds_pointers = true});
    }
    t.synchronize(t.a);
    t.synchronize(t.b);
    return t.finish();
}

Trace host_that_enqueues_one_by_one(const TimedCosts& costs) {
    OneStream t(costs);
    for (std::uint64_t memory = 2; memory < 6; ++memory) t.zeros(t.s, memory);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5000; ++i)
            t.launch(t.s, "Sum", tiny, {.changes = {x}, .reads = {2, 3, 4, 5}});
        t.synchronize(t.s);
    }
    return t.finish();
}

Trace host_that_waits_between_launches(const TimedCosts& costs) {
    OneStream t(costs);
    for (int i = 0; i < 500; ++i) {
        t.launch(t.s, "Increment", tiny, {.changes = {x}});
        t.synchronize(t.s);
    }
    return t.finish();
}

Trace host_that_reads_between_launches(const TimedCosts& costs) {
    OneStream t(costs);
    for (int i = 0; i < 500; ++i) {
        t.launch(t.s, "Increment", tiny, {.changes = {x}});
        read(t);
    }
    return t.finish();
}

Trace host_that_polls_between_launches(const TimedCosts& costs) {
    OneStream t(costs);
    for (int i = 0; i < 500; ++i) {
        t.launch(t.s, "Increment", tiny, {.changes = {x}});
        t.poll({t.s}, us / 2);
    }
    return t.finish();
}

Trace host_that_computes_between_launches(const TimedCosts& costs) {
    OneStream t(costs);
    for (int i = 0; i < 20; ++i) {
        t.compute(2 * ms);
        t.launch(t.s, "Burn", 100 * us, {.changes = {x}});
    }
    t.synchronize(t.s);
    return t.finish();
}

Trace copies_of_pageable_memory(const TimedCosts& costs) {
    OneStream t(costs);
    t.compute(5 * ms);  // clears the pageable memory
    for (int i = 0; i < 8; ++i) {
        t.copy_from_pageable(t.s, copying,
                             {.writes = {x}, .reads = {TimedTrace::pageable}, .bytes = many});
        t.launch(t.s, "Increment", tiny, {.changes = {x}});
    }
    t.synchronize(t.s);
    return t.finish();
}

Trace copies_and_kernels_by_turns(const TimedCosts& costs) {
    TimedTrace t(costs);
    const TraceIndex up = t.stream("up"), s = t.stream("s");
    t.zeros(up, x);
    t.zeros(s, y);
    t.pinned(chunk);
    for (int i = 0; i < 10; ++i) {
        t.copy(up, copying, {.writes = {x}, .reads = {chunk}, .bytes = many});
        t.wait_stream(s, up);
        t.launch(s, "BurnFrom", 2 * ms, {.changes = {y}, .reads = {x}});
        t.wait_stream(up, s);
    }
    t.synchronize(up);
    t.synchronize(s);
    return t.finish();
}

Trace waits_without_a_reason(const TimedCosts& costs) {
    TwoStreams t(costs);
    for (int i = 0; i < 10; ++i) {
        t.launch(t.a, "Burn", 2 * ms, {.changes = {x}});
        t.wait_stream(t.b, t.a);
        t.launch(t.b, "Burn", 2 * ms, {.changes = {y}});
        t.wait_stream(t.a, t.b);
    }
    t.synchronize(t.a);
    t.synchronize(t.b);
    return t.finish();
}

Trace waits_for_a_whole_stream(const TimedCosts& costs) {
    TimedTrace t(costs);
    const TraceIndex a = t.stream("a"), b = t.stream("b");
    t.zeros(a, x);
    t.zeros(a, z);
    t.zeros(b, y);
    for (int i = 0; i < 10; ++i) {
        t.launch(a, "Burn", 300 * us, {.changes = {x}});
        t.launch(a, "Burn", 3 * ms, {.changes = {z}});
        t.wait_stream(b, a);
        t.launch(b, "BurnFrom", 2 * ms, {.changes = {y}, .reads = {x}});
        t.wait_stream(a, b);
    }
    t.synchronize(a);
    t.synchronize(b);
    return t.finish();
}

Trace chains_on_one_stream(const TimedCosts& costs) {
    OneStream t(costs);
    for (std::uint64_t chain = 2; chain <= 4; ++chain) t.zeros(t.s, chain);
    for (int i = 0; i < 10; ++i)
        for (std::uint64_t chain = 1; chain <= 4; ++chain)
            t.launch(t.s, "Burn", 1 * ms, {.changes = {chain}});
    t.synchronize(t.s);
    return t.finish();
}

Trace more_streams_than_workers(const TimedCosts& costs) {
    TimedTrace t(costs);
    std::vector<TraceIndex> streams;
    for (std::uint64_t i = 0; i < 4 * costs.workers; ++i) {
        streams.push_back(t.stream("s"));
        t.zeros(streams.back(), 1 + i);
    }
    for (int i = 0; i < 4; ++i)
        for (const TraceIndex s : streams) t.launch(s, "Burn", 2 * ms, {.changes = {1u + s}});
    for (const TraceIndex s : streams) t.synchronize(s);
    return t.finish();
}

}  // namespace heddle_test::slow_traces
