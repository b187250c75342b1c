// Finds how the host's threads spent the time in which a stream was idle.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "timeline/solve/ops_by_id.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// The time that a thread spent in host waits, in other calls and in its own code.
struct HostStretch {
    Moment waiting = 0, calling = 0, own = 0;
    std::uint64_t waits = 0, calls = 0;
    TraceIndex longest_wait = no_index, longest_call = no_index;  ///< indices of operations
    /// The longest stretch of the thread's own code, and the operations of the calls before and
    /// after that stretch.
    Moment own_begin = 0, own_end = 0;
    TraceIndex own_after = no_index, own_before = no_index;
};

/// An index of the calls of all threads. Its construction sorts the calls. The time of a query is
/// linear in the number of calls in the stretch.
class HostActivity {
public:
    explicit HostActivity(const Trace& trace);

    /// Returns the thread's first call at or after `begin` that enqueued work. Returns no_index if
    /// there is none.
    TraceIndex first_work(TraceIndex thread, Moment begin) const;

    /// Called for each call in a stretch, with the part of its time that is within the stretch.
    using InCall = std::function<void(TraceIndex op, Moment time)>;
    void calls(TraceIndex thread, Moment begin, Moment end, const InCall& use) const;

    /// Called for each part of a stretch in which the thread ran its own code. `time` is the length
    /// of that part. `after` and `before` are the operations of the adjacent calls, or no_index.
    using OwnCode = std::function<void(Moment time, TraceIndex after, TraceIndex before)>;
    /// Returns how a thread spent the stretch. Returns an empty result if there is no such thread.
    HostStretch on(TraceIndex thread, Moment begin, Moment end, const OwnCode& own = {}) const;

    /// Describes, on one line, how the thread that enqueued `gap.op` spent the time of the gap:
    ///
    ///     main: its own code 3.10 ms (2.90 ms from a.cpp:12 to a.cpp:20, in 'assembly'),
    ///     synchronize 1.20 ms (a.cpp:33), 14 other calls 12.0 us
    ///
    /// Returns "" if this is unknown, or if no operation follows the gap.
    std::string during(const Gap& gap) const;

private:
    struct Call {
        Moment begin, end;
        TraceIndex op;
        bool is_wait = false;
    };
    struct Range {
        Moment begin, end;
        TraceIndex name;
        /// Index of the enclosing range, or the range's own index if no other range encloses it.
        std::size_t parent;
    };
    void add_calls();
    /// Splits calls that contain waits, so that no two entries overlap.
    static void cut_out_waits(std::vector<Call>& calls);
    void add_ranges();
    /// Returns the name of the innermost range that contains the moment, or no_index.
    TraceIndex range_at(TraceIndex thread, Moment moment) const;
    std::string words(TraceIndex thread, Moment begin, Moment end) const;

    const Trace& trace_;
    const OpsById host_functions_;
    std::vector<std::vector<Call>> calls_;    ///< by thread: its calls, ordered by begin
    std::vector<std::vector<Range>> ranges_;  ///< by thread: its ranges, ordered by begin
};

}  // namespace heddle::detail
