// Activity of the host's threads while a stream was idle.
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
    /// The longest part in its own code, and the operations of the calls before and after it.
    Moment own_begin = 0, own_end = 0;
    TraceIndex own_after = no_index, own_before = no_index;
};

/// An index of the calls of all threads. Construction sorts them. A query takes time linear in the
/// number of calls in its stretch.
class HostActivity {
public:
    explicit HostActivity(const Trace& trace);

    /// Returns the first call of the thread, at or after `begin`, that enqueued work. Returns
    /// no_index if there is none.
    TraceIndex first_work(TraceIndex thread, Moment begin) const;

    /// A function that is called for each call, or part of a call, within a stretch.
    using InCall = std::function<void(TraceIndex op, Moment time)>;
    void calls(TraceIndex thread, Moment begin, Moment end, const InCall& use) const;

    /// A function that is called for each part of a stretch in which the thread ran its own code.
    /// Receives the part's length, and the operations of the calls before and after it, or
    /// no_index.
    using OwnCode = std::function<void(Moment time, TraceIndex after, TraceIndex before)>;
    /// Returns how a thread spent the stretch. The result is empty if the thread does not exist.
    HostStretch on(TraceIndex thread, Moment begin, Moment end, const OwnCode& own = {}) const;

    /// Returns in words, on one line, how the thread that enqueued `gap.op` spent the gap:
    ///
    ///     main: its own code 3.10 ms (2.90 ms from a.cpp:12 to a.cpp:20, in 'assembly'),
    ///     synchronize 1.20 ms (a.cpp:33), 14 other calls 12.0 us
    ///
    /// Returns "" if that is unknown, or if no operation follows the gap.
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
        std::size_t parent;  ///< index of the enclosing range; its own index if there is none
    };
    void add_calls();
    /// Cuts waits out of the calls that contain them, so that no two calls overlap.
    static void cut_out_waits(std::vector<Call>& calls);
    void add_ranges();
    /// Returns the name of the innermost range that contains the moment, or no_index.
    TraceIndex range_at(TraceIndex thread, Moment moment) const;
    std::string words(TraceIndex thread, Moment begin, Moment end) const;

    const Trace& trace_;
    const OpsById host_functions_;
    std::vector<std::vector<Call>> calls_;    ///< the calls of each thread, by begin
    std::vector<std::vector<Range>> ranges_;  ///< the ranges of each thread, by begin
};

/// Returns HostActivity::during(gap) for a single gap. Use one HostActivity for several gaps.
std::string what_the_host_did(const Trace& trace, const Gap& gap);

}  // namespace heddle::detail
