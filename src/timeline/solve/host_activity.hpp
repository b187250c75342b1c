// What the host's threads did while a stream had nothing to run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "timeline/solve/ops_by_id.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// How a thread spent a stretch of time: in host waits, in other calls, in its own code.
struct HostStretch {
    Moment waiting = 0, calling = 0, own = 0;
    std::uint64_t waits = 0, calls = 0;
    TraceIndex longest_wait = no_index, longest_call = no_index;  ///< operations
    /// The longest part in its own code, and the operations that it called before and after.
    Moment own_begin = 0, own_end = 0;
    TraceIndex own_after = no_index, own_before = no_index;
};

/// Knows the calls of all threads. Making one takes as long as sorting them; asking takes as long
/// as there are calls in the stretch.
class HostActivity {
public:
    explicit HostActivity(const Trace& trace);

    /// Returns the first call from `begin` on in which the thread enqueued work, or no_index.
    TraceIndex first_work(TraceIndex thread, Moment begin) const;

    /// Called for a call, or a part of one, that is in a stretch.
    using InCall = std::function<void(TraceIndex op, Moment time)>;
    void calls(TraceIndex thread, Moment begin, Moment end, const InCall& use) const;

    /// Called for each part of a stretch in which the thread ran its own code: how long it took,
    /// and the operations that were called before and after, if known.
    using OwnCode = std::function<void(Moment time, TraceIndex after, TraceIndex before)>;
    /// Returns what a thread did. Empty for a thread that does not exist.
    HostStretch on(TraceIndex thread, Moment begin, Moment end, const OwnCode& own = {}) const;

    /// Returns in words what the thread that enqueued `gap.op` did during the gap:
    ///
    ///     main: its own code 3.10 ms (2.90 ms from a.cpp:12 to a.cpp:20, in 'assembly'),
    ///     synchronize 1.20 ms (a.cpp:33), 14 other calls 12.0 us
    ///
    /// in one line. Returns "" if that is not known, or if no operation is behind the gap.
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
        std::size_t parent;  ///< the range around it; its own index if there is none
    };
    void add_calls();
    /// Cuts waits out of the calls in which they were, so that no two calls overlap.
    static void cut_out_waits(std::vector<Call>& calls);
    void add_ranges();
    /// Returns the name of the innermost range that holds this moment, or no_index.
    TraceIndex range_at(TraceIndex thread, Moment moment) const;
    std::string words(TraceIndex thread, Moment begin, Moment end) const;

    const Trace& trace_;
    const OpsById host_functions_;
    std::vector<std::vector<Call>> calls_;    ///< of each thread, by begin
    std::vector<std::vector<Range>> ranges_;  ///< of each thread, by begin
};

/// The same for one gap. For more gaps, make a HostActivity.
std::string what_the_host_did(const Trace& trace, const Gap& gap);

}  // namespace heddle::detail
