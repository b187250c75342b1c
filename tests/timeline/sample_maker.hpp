// Makes recordings and their solutions up, without a device.
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

/// Enqueues made-up work. Computes when each operation would run. All times are in ns.
class SampleMaker {
public:
    explicit SampleMaker(std::string program);

    TraceIndex add_device(std::string_view name, int index, detail::TraceClock clock,
                          Moment clock_error);
    TraceIndex add_stream(TraceIndex device, std::string_view name);
    TraceIndex add_thread(std::string_view name);
    TraceIndex text(std::string_view text);

    /// Selects the thread for later calls.
    SampleMaker& on_thread(TraceIndex thread) { return thread_ = thread, *this; }
    SampleMaker& at_line(std::uint32_t line) { return line_ = line, *this; }
    /// Lets time pass, in which the thread does other work.
    void pass(Moment time) { clocks_[thread_] += time; }
    Moment now() const { return clocks_[thread_]; }
    /// Delays the next call by `time`. The resulting gap has the reason `reason`.
    void delay_call(Moment time, GapReason reason) { delay_ = time, delay_reason_ = reason; }

    /// Enqueues an operation that runs for `length`. Returns its index.
    TraceIndex run(TraceIndex stream, OpKind kind, std::string_view name, Moment length,
                   std::uint64_t bytes = 0);
    TraceIndex launch(TraceIndex stream, std::string_view name, Moment length) {
        return run(stream, OpKind::launch, name, length);
    }
    /// Makes `stream` wait for all work that was enqueued on `other` so far. Returns the wait.
    TraceIndex wait(TraceIndex stream, TraceIndex other, WaitReason reason = WaitReason::user);
    /// Makes the host wait for the stream. Returns the wait.
    TraceIndex synchronize(TraceIndex stream);
    /// Enqueues an operation that never runs, because it is captured or dropped.
    TraceIndex call(TraceIndex stream, OpKind kind, std::string_view name,
                    OpMode mode = OpMode::run);
    /// Launches the graph. Two of its nodes run at a time.
    TraceIndex launch_graph(TraceIndex stream, TraceIndex graph, Moment length);
    TraceIndex add_graph(const std::vector<std::string>& nodes);
    /// Adds an access to memory to the last operation.
    void access(std::string_view name, std::uint64_t address, std::uint64_t bytes, AccessMode mode,
                int argument);
    /// Adds a named range that begins at `begin` and ends now.
    void range(std::string_view name, Moment begin);

    detail::Trace& trace() { return sample_.trace; }
    detail::Solution& solution() { return sample_.solution; }
    detail::TraceOp& last_op() { return sample_.trace.ops.back(); }
    /// Sorts, and computes the totals of the rows. Call it last. Returns the sample.
    Sample finish();

private:
    struct StreamEnd {
        TraceIndex op = no_index;  ///< last operation that runs on the stream
        Moment end = 0;
        std::vector<TraceIndex> arrows;  ///< arrows whose waits have no later operation
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
