// Makes up recordings and what follows from them, without a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle_test {

namespace detail = heddle::detail;
using detail::GapReason;
using detail::Moment;
using detail::no_index;
using detail::TraceIndex;
using heddle::AccessMode;
using heddle::OpKind;
using heddle::OpMode;
using heddle::WaitReason;

struct Sample {
    detail::Trace trace;
    detail::Solution solution;
};

/// Enqueues made-up work, and says when each operation would run. All times are in nanoseconds.
class SampleMaker {
public:
    explicit SampleMaker(std::string program);

    TraceIndex add_device(std::string_view name, int index, detail::TraceClock clock,
                          Moment clock_error);
    TraceIndex add_stream(TraceIndex device, std::string_view name);
    TraceIndex add_thread(std::string_view name);
    TraceIndex text(std::string_view text);

    /// Where the next calls come from.
    SampleMaker& on_thread(TraceIndex thread) { return thread_ = thread, *this; }
    SampleMaker& at_line(std::uint32_t line) { return line_ = line, *this; }
    /// The thread does something of its own.
    void pass(Moment time) { clocks_[thread_] += time; }
    Moment now() const { return clocks_[thread_]; }
    /// The next call takes that much longer, and the gap that follows from it has that reason.
    void delay_call(Moment time, GapReason reason) { delay_ = time, delay_reason_ = reason; }

    /// Enqueues an operation that runs for `length`. Returns its index.
    TraceIndex run(TraceIndex stream, OpKind kind, std::string_view name, Moment length,
                   std::uint64_t bytes = 0);
    TraceIndex launch(TraceIndex stream, std::string_view name, Moment length) {
        return run(stream, OpKind::launch, name, length);
    }
    /// Makes `stream` wait for what `other` was given so far. Returns the wait.
    TraceIndex wait(TraceIndex stream, TraceIndex other, WaitReason reason = WaitReason::user);
    /// The host waits for the stream. Returns the wait.
    TraceIndex synchronize(TraceIndex stream);
    /// Enqueues what never runs: a captured operation, or a dropped one.
    TraceIndex call(TraceIndex stream, OpKind kind, std::string_view name,
                    OpMode mode = OpMode::run);
    /// Launches the graph; its nodes run two at a time.
    TraceIndex launch_graph(TraceIndex stream, TraceIndex graph, Moment length);
    TraceIndex add_graph(const std::vector<std::string>& nodes);
    /// The last operation accesses memory.
    void access(std::string_view name, std::uint64_t address, std::uint64_t bytes, AccessMode mode,
                int argument);
    /// Names what the thread has done since `begin`.
    void range(std::string_view name, Moment begin);

    detail::Trace& trace() { return sample_.trace; }
    detail::Solution& solution() { return sample_.solution; }
    detail::TraceOp& last_op() { return sample_.trace.ops.back(); }
    /// Adds up what the rows need, and sorts. Call at the end.
    Sample finish();

private:
    struct StreamEnd {
        TraceIndex op = no_index;  ///< the last one that runs
        Moment end = 0;
        std::vector<TraceIndex> arrows;  ///< of waits that nothing followed yet
    };
    TraceIndex enqueue(TraceIndex stream, OpKind kind, std::string_view name);
    void add_gaps(TraceIndex stream, TraceIndex op, Moment start);
    void add_gap(TraceIndex stream, TraceIndex op, Moment& from, Moment to, GapReason reason,
                 TraceIndex wait = no_index);
    void place_bar(TraceIndex stream, TraceIndex op, Moment start, Moment length);
    void add_critical_path();

    Sample sample_;
    std::vector<Moment> clocks_;
    std::vector<StreamEnd> ends_;
    TraceIndex thread_ = 0;
    std::uint32_t line_ = 1;
    Moment delay_ = 0;
    GapReason delay_reason_ = GapReason::queue_full;
};

}  // namespace heddle_test
