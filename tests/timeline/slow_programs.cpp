#include "timeline/slow_programs.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

#include <heddle/observe/timeline.hpp>

#include "gpu_clock.hpp"
#include "support.hpp"
#include "timeline/timed_trace.hpp"

namespace heddle_test {

namespace {

using Uses = TimedTrace::Uses;

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

/// Same as BurnFrom, but reads from an address, so the memory is unknown to heddle.
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

/// Runs work on the device under test. Its member functions are called like those of TimedTrace.
/// `length` is the duration of the work itself.
class RealCalls {
public:
    std::uint32_t workers() const { return static_cast<std::uint32_t>(cpu_workers()); }
    std::size_t stream(const char* name, Where where = {}) {
        streams_.emplace_back(test_device(), StreamOptions{.priority = 0, .name = name}, where);
        return streams_.size() - 1;
    }
    void zeros(std::size_t s, std::uint64_t memory, std::uint64_t bytes = sizeof(float),
               Where where = {}) {
        arrays_.emplace(memory, heddle::zeros<float>(streams_[s], bytes / sizeof(float), where));
    }
    void pinned(std::uint64_t memory, std::uint64_t bytes, Where where = {}) {
        arrays_.emplace(memory, heddle::pinned<float>(bytes / sizeof(float), where));
    }
    void compute(Moment time) { burn(static_cast<int>(time / us)); }

    void launch(std::size_t s, const char* name, Moment length, const Uses& uses,
                Where where = {}) {
        const Stream& stream = streams_[s];
        Array<float>& x = arrays_.at(uses.changes[0]);
        const auto read = [&](std::size_t i) -> Array<float>& { return arrays_.at(uses.reads[i]); };
        const auto shape = dim(1, where);
        const int time = static_cast<int>(length / us);
        if (!uses.behind_pointers.empty())
            heddle::launch(stream, BurnAt{}, shape, x, arrays_.at(uses.behind_pointers[0]).data(),
                           time);
        else if (uses.reads.size() == 4)
            heddle::launch(stream, Sum{}, shape, x, read(0), read(1), read(2), read(3));
        else if (uses.reads.size() == 1)
            heddle::launch(stream, BurnFrom{}, shape, x, read(0), time);
        else if (name == std::string_view("Burn")) heddle::launch(stream, Burn{}, shape, x, time);
        else heddle::launch(stream, Increment{}, shape, x);
    }
    void copy(std::size_t s, Moment, const Uses& uses, Where where = {}) {
        heddle::copy(streams_[s], arrays_.at(uses.writes[0]), arrays_.at(uses.reads[0]), where);
    }
    void copy_from_pageable(std::size_t s, Moment, const Uses& uses, Where where = {}) {
        pageable_.resize(uses.bytes / sizeof(float));
        heddle::copy(streams_[s], arrays_.at(uses.writes[0]), std::span<const float>(pageable_),
                     where);
    }
    void copy_to_pageable(std::size_t s, Moment, const Uses& uses, Where where = {}) {
        pageable_.resize(uses.bytes / sizeof(float));
        heddle::copy(streams_[s], std::span<float>(pageable_), arrays_.at(uses.reads[0]), where);
    }
    void to_host(std::size_t s, Moment, const Uses& uses, Where where = {}) {
        static_cast<void>(heddle::to_host(streams_[s], arrays_.at(uses.reads[0]), where));
    }
    void wait_stream(std::size_t waiter, std::size_t other, Where where = {}) {
        streams_[waiter].wait_stream(streams_[other], where);
    }
    void synchronize(std::size_t s, Where where = {}) { streams_[s].synchronize(where); }
    void poll_event(std::size_t s, Moment pause, Where where = {}) {
        const Event done = streams_[s].record_event({}, where);
        while (!done.is_complete(where)) rest(pause);
    }
    void poll(std::vector<std::size_t> left, Moment pause, Where where = {}) {
        while (std::erase_if(left, [&](std::size_t s) { return streams_[s].is_complete(where); }),
               !left.empty())
            rest(pause);
    }

private:
    static void rest(Moment pause) {
        if (pause < us) std::this_thread::yield();
        else std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
    }

    std::vector<Stream> streams_;
    std::map<std::uint64_t, Array<float>> arrays_;
    std::vector<float> pageable_;
};

/// Numbers for memory.
constexpr std::uint64_t x = 1, y = 2, z = 3, chunk = 9;
constexpr std::uint64_t many = 16 << 20;  ///< in bytes
constexpr Moment copying = 3 * ms;        ///< time to copy `many` bytes
constexpr Moment tiny = 60;               ///< time of a kernel that adds

/// Creates a stream, and clears memory on it.
auto stream_with(auto& t, const char* name, std::uint64_t memory) {
    const auto s = t.stream(name);
    t.zeros(s, memory);
    return s;
}

/// Enqueues work that takes 10 ms.
void enqueue_work(auto& t, auto s) {
    for (int i = 0; i < 5; ++i) t.launch(s, "Burn", 2 * ms, {.changes = {x}});
}

// Programs that cannot be improved: the work itself takes the time.

constexpr auto work_in_a_row = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int i = 0; i < 20; ++i) t.launch(s, "Burn", 2 * ms, {.changes = {x}});
    t.synchronize(s);
};

constexpr auto work_that_is_read = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t, s);
        t.to_host(s, tiny, {.writes = {TimedTrace::pageable}, .reads = {x}, .bytes = 4});
    }
};

constexpr auto work_that_is_copied = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t, s);
        t.copy_to_pageable(s, tiny, {.writes = {TimedTrace::pageable}, .reads = {x}, .bytes = 4});
    }
};

constexpr auto work_whose_event_is_polled = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t, s);
        t.poll_event(s, 100 * us);
    }
};

constexpr auto work_whose_stream_is_polled = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int round = 0; round < 5; ++round) {
        enqueue_work(t, s);
        t.poll({s}, us / 2);
    }
};

constexpr auto two_streams_that_are_polled_by_turns = [](auto& t) {
    const auto a = stream_with(t, "a", x), b = stream_with(t, "b", y);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5; ++i) {
            t.launch(a, "Burn", 2 * ms, {.changes = {x}});
            t.launch(b, "Burn", 1 * ms, {.changes = {y}});
        }
        t.poll({a, b}, 100 * us);
    }
};

constexpr auto streams_side_by_side = [](auto& t) {
    const auto a = stream_with(t, "a", x), b = stream_with(t, "b", y);
    for (int i = 0; i < 20; ++i) {
        t.launch(a, "Burn", 2 * ms, {.changes = {x}});
        t.launch(b, "Burn", 2 * ms, {.changes = {y}});
    }
    t.synchronize(a);
    t.synchronize(b);
};

constexpr auto chains_that_cross_on_one_stream = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    t.zeros(s, y);
    for (int i = 0; i < 10; ++i) {
        t.launch(s, "BurnFrom", 2 * ms, {.changes = {x}, .reads = {y}});
        t.launch(s, "BurnFrom", 2 * ms, {.changes = {y}, .reads = {x}});
    }
    t.synchronize(s);
};

constexpr auto waits_for_memory_behind_an_address = [](auto& t) {
    const auto a = stream_with(t, "a", x), b = stream_with(t, "b", y);
    t.zeros(b, z);
    for (int i = 0; i < 10; ++i) {
        t.wait_stream(b, a);
        t.launch(b, "BurnAt", 2 * ms, {.changes = {y}, .behind_pointers = {x}});
        t.wait_stream(a, b);
        t.launch(a, "BurnAt", 2 * ms, {.changes = {x}, .behind_pointers = {y}});
    }
    t.synchronize(a);
    t.synchronize(b);
};

// Programs that spend time on the host.

constexpr auto host_that_enqueues_one_by_one = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (std::uint64_t memory = 2; memory < 6; ++memory) t.zeros(s, memory);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 5000; ++i)
            t.launch(s, "Sum", tiny, {.changes = {x}, .reads = {2, 3, 4, 5}});
        t.synchronize(s);
    }
};

constexpr auto host_that_waits_between_launches = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int i = 0; i < 500; ++i) {
        t.launch(s, "Increment", tiny, {.changes = {x}});
        t.synchronize(s);
    }
};

constexpr auto host_that_reads_between_launches = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int i = 0; i < 500; ++i) {
        t.launch(s, "Increment", tiny, {.changes = {x}});
        t.to_host(s, tiny, {.writes = {TimedTrace::pageable}, .reads = {x}, .bytes = 4});
    }
};

constexpr auto host_that_polls_between_launches = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int i = 0; i < 500; ++i) {
        t.launch(s, "Increment", tiny, {.changes = {x}});
        t.poll({s}, us / 2);
    }
};

constexpr auto host_that_computes_between_launches = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (int i = 0; i < 20; ++i) {
        t.compute(2 * ms);
        t.launch(s, "Burn", 100 * us, {.changes = {x}});
    }
    t.synchronize(s);
};

// Programs that copy memory.

constexpr auto copies_of_pageable_memory = [](auto& t) {
    const auto s = t.stream("s");
    t.zeros(s, x, many);
    t.compute(5 * ms);  // clears the pageable memory
    for (int i = 0; i < 8; ++i) {
        t.copy_from_pageable(s, copying,
                             {.writes = {x}, .reads = {TimedTrace::pageable}, .bytes = many});
        t.launch(s, "Increment", tiny, {.changes = {x}});
    }
    t.synchronize(s);
};

constexpr auto copies_and_kernels_by_turns = [](auto& t) {
    const auto up = t.stream("up"), s = t.stream("s");
    t.zeros(up, x, many);
    t.zeros(s, y);
    t.pinned(chunk, many);
    for (int i = 0; i < 10; ++i) {
        t.copy(up, copying, {.writes = {x}, .reads = {chunk}, .bytes = many});
        t.wait_stream(s, up);
        t.launch(s, "BurnFrom", 2 * ms, {.changes = {y}, .reads = {x}});
        t.wait_stream(up, s);
    }
    t.synchronize(up);
    t.synchronize(s);
};

// Programs with needless order.

constexpr auto waits_without_a_reason = [](auto& t) {
    const auto a = stream_with(t, "a", x), b = stream_with(t, "b", y);
    for (int i = 0; i < 10; ++i) {
        t.launch(a, "Burn", 2 * ms, {.changes = {x}});
        t.wait_stream(b, a);
        t.launch(b, "Burn", 2 * ms, {.changes = {y}});
        t.wait_stream(a, b);
    }
    t.synchronize(a);
    t.synchronize(b);
};

constexpr auto waits_for_a_whole_stream = [](auto& t) {
    const auto a = stream_with(t, "a", x), b = stream_with(t, "b", y);
    t.zeros(a, z);
    for (int i = 0; i < 10; ++i) {
        t.launch(a, "Burn", 300 * us, {.changes = {x}});
        t.launch(a, "Burn", 3 * ms, {.changes = {z}});
        t.wait_stream(b, a);
        t.launch(b, "BurnFrom", 2 * ms, {.changes = {y}, .reads = {x}});
        t.wait_stream(a, b);
    }
    t.synchronize(a);
    t.synchronize(b);
};

constexpr auto chains_on_one_stream = [](auto& t) {
    const auto s = stream_with(t, "s", x);
    for (std::uint64_t chain = 2; chain <= 4; ++chain) t.zeros(s, chain);
    for (int i = 0; i < 10; ++i)
        for (std::uint64_t chain = 1; chain <= 4; ++chain)
            t.launch(s, "Burn", 1 * ms, {.changes = {chain}});
    t.synchronize(s);
};

// Programs for the workers of CPU devices.

constexpr auto more_streams_than_workers = [](auto& t) {
    const std::uint64_t count = 4 * t.workers();
    std::vector<decltype(t.stream("s"))> streams;
    for (std::uint64_t i = 0; i < count; ++i) streams.push_back(stream_with(t, "s", 1 + i));
    for (int round = 0; round < 4; ++round)
        for (std::uint64_t i = 0; i < count; ++i)
            t.launch(streams[i], "Burn", 2 * ms, {.changes = {1 + i}});
    for (const auto s : streams) t.synchronize(s);
};

/// Returns a program from a function that makes its calls.
template <class Calls>
SlowProgram program(std::string name, Calls, Strings says, Strings does_not_say, int workers = 1,
                    bool is_for_gpus = true) {
    const auto run = [] {
        RealCalls t;
        Calls{}(t);
    };
    const auto trace = [](const TimedCosts& costs) {
        TimedTrace t(costs);
        Calls{}(t);
        return t.finish();
    };
    return {std::move(name),         run,     trace,      std::move(says),
            std::move(does_not_say), workers, is_for_gpus};
}

const std::string work = "The work itself is the biggest reason", mend = "Fix first",
                  round_trips = "the host waits between launches",
                  enqueuing = "small operations, enqueued one by one",
                  pageable = "copies of pageable memory", own = "the program's own code";

}  // namespace

const std::vector<SlowProgram>& slow_programs() {
    static const std::vector<SlowProgram> all{
        program("work in a row", work_in_a_row, {work}, {mend, own}),
        program("work that is read", work_that_is_read, {work}, {mend, own}),
        program("work that is copied", work_that_is_copied, {work}, {mend, own}),
        program("work whose event is polled", work_whose_event_is_polled, {work}, {mend, own}),
        program("work whose stream is polled", work_whose_stream_is_polled, {work}, {mend, own}),
        program("two streams that are polled by turns", two_streams_that_are_polled_by_turns,
                {work}, {mend, own}, 2),
        program("streams side by side", streams_side_by_side, {work}, {mend, own}, 2),
        program("chains that cross on one stream", chains_that_cross_on_one_stream, {work},
                {mend, own}),
        program("waits for memory behind an address", waits_for_memory_behind_an_address, {work},
                {mend, own}),
        program("a host that enqueues one by one", host_that_enqueues_one_by_one,
                {enqueuing, "fewer calls"}, {round_trips, pageable}),
        program("a host that waits between launches", host_that_waits_between_launches,
                {round_trips}, {enqueuing}),
        program("a host that reads between launches", host_that_reads_between_launches,
                {round_trips}, {pageable, enqueuing}),
        program("a host that polls between launches", host_that_polls_between_launches,
                {round_trips}, {own, enqueuing}),
        program("a host that computes between launches", host_that_computes_between_launches,
                {"The host is the biggest reason", own}, {mend}),
        program("copies of pageable memory", copies_of_pageable_memory, {pageable}, {round_trips}),
        program("copies and kernels by turns", copies_and_kernels_by_turns,
                {"copies and kernels alternate"}, {"needless", pageable}),
        program("waits without a reason", waits_without_a_reason, {"waits that seem needless"},
                {own}),
        program("waits for a whole stream", waits_for_a_whole_stream,
                {"waits for more than is needed", "Wait for an event"}, {"needless", own}),
        program("chains on one stream", chains_on_one_stream, {"independent work is on one stream"},
                {own}, 2, false),
        program("more streams than workers", more_streams_than_workers,
                {"Too few workers are the biggest reason"}, {mend}, 1, false),
    };
    return all;
}

}  // namespace heddle_test
