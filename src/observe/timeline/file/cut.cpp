#include "timeline/file/cut.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace heddle::detail {

namespace {

class Cut {
public:
    Cut(const Trace& trace, Moment from, Moment to)
        : trace_(trace), from_(from), to_(to), runs_(trace.ops.size()), stays_(trace.ops.size()) {
        find_runs();
        order_streams();
        choose_by_times();
        choose_neighbours();
        choose_beginnings();
    }

    Trace trace() const {
        Trace cut = everything_but_rows();
        for (std::size_t i = 0; i < trace_.ops.size(); ++i)
            if (stays_[i]) cut.ops.push_back(shortened(i));
        for (const TraceNodeRun& run : trace_.node_runs)
            if (overlaps(run.start, run.end)) cut.node_runs.push_back(run);
        for (const TraceRange& range : trace_.ranges)
            if (overlaps(range.begin, range.end)) cut.ranges.push_back(range);
        copy_accesses(cut);
        return cut;
    }

private:
    struct Run {
        Moment start = unknown_moment, end = unknown_moment;
        bool spans_nodes = false;
        bool is_known() const { return end != unknown_moment; }
    };

    bool overlaps(Moment begin, Moment end) const {
        return begin != unknown_moment && end != unknown_moment && begin <= to_ &&
               std::max(begin, end) >= from_;
    }
    bool overlaps(const Run& run) const { return overlaps(run.start, run.end); }

    /// Finds when each operation ran, as measured. For a graph launch, this is the time from the
    /// first to the last run of its nodes. An operation without a measured end runs until the
    /// recording ends.
    void find_runs() {
        std::unordered_map<std::uint64_t, std::size_t> launches;
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            const TraceOp& op = trace_.ops[i];
            runs_[i].start = op.start;
            runs_[i].end = op.end;
            if (op.start != unknown_moment && op.end == unknown_moment)
                runs_[i].end = std::max(op.start, trace_.end);
            if (op.kind == OpKind::graph_launch && !trace_.node_runs.empty())
                launches.emplace(op.id, i);
        }
        for (const TraceNodeRun& node : trace_.node_runs) {
            const auto launch = launches.find(node.launch);
            if (launch == launches.end() || node.start == unknown_moment) continue;
            Run& run = runs_[launch->second];
            run.start = run.start == unknown_moment ? node.start : std::min(run.start, node.start);
            run.end = std::max({run.end, node.start, node.end});
            run.spans_nodes = true;
        }
    }

    /// Sorts the operations by stream and position. Deduces each start that was not measured.
    void order_streams() {
        order_.resize(trace_.ops.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::erase_if(order_, [this](std::size_t i) { return trace_.ops[i].stream == no_index; });
        std::ranges::stable_sort(order_, {}, [this](std::size_t i) {
            return std::pair(trace_.ops[i].stream, trace_.ops[i].position);
        });
        TraceIndex stream = no_index;
        Moment before = unknown_moment;  // the latest end so far on the stream
        for (const std::size_t i : order_) {
            if (trace_.ops[i].stream != stream) before = unknown_moment;
            stream = trace_.ops[i].stream;
            Run& run = runs_[i];
            if (!run.is_known()) continue;
            if (run.start == unknown_moment) run.start = std::max(before, trace_.ops[i].call_begin);
            if (run.start == unknown_moment || run.start > run.end) run.start = run.end;
            before = std::max(before, run.end);
        }
    }

    void choose_by_times() {
        for (std::size_t i = 0; i < trace_.ops.size(); ++i)
            stays_[i] =
                overlaps(runs_[i]) || overlaps(trace_.ops[i].call_begin, trace_.ops[i].call_end);
    }

    /// Returns whether operations of this kind only concern the host: a host wait or a query.
    static bool is_of_host(OpKind kind) {
        return kind == OpKind::synchronize || kind == OpKind::synchronize_begin ||
               kind == OpKind::query || kind == OpKind::blocked;
    }

    /// Keeps operations without times that, on their stream, directly precede or follow an
    /// operation that ran in the stretch.
    void choose_neighbours() {
        const auto go = [this](auto first, auto last) {
            bool is_next_to_run = false;
            TraceIndex stream = no_index;
            for (; first != last; ++first) {
                const std::size_t i = *first;
                if (trace_.ops[i].stream != stream) is_next_to_run = false;
                stream = trace_.ops[i].stream;
                if (runs_[i].is_known()) is_next_to_run = overlaps(runs_[i]);
                else if (is_next_to_run && !is_of_host(trace_.ops[i].kind)) stays_[i] = true;
            }
        };
        go(order_.begin(), order_.end());
        go(order_.rbegin(), order_.rend());
    }

    /// For each kept end of a host wait, keeps the beginning of that wait.
    void choose_beginnings() {
        std::vector<std::size_t> begun(trace_.threads.size() + 1, trace_.ops.size());
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            std::size_t& own = begun[std::min<std::size_t>(trace_.ops[i].thread, begun.size() - 1)];
            if (trace_.ops[i].kind == OpKind::synchronize_begin) own = i;
            if (trace_.ops[i].kind != OpKind::synchronize) continue;
            if (stays_[i] && own < stays_.size()) stays_[own] = true;
            own = stays_.size();
        }
    }

    TraceOp shortened(std::size_t index) const {
        TraceOp op = trace_.ops[index];
        if (!overlaps(op.call_begin, op.call_end)) op.call_begin = op.call_end = unknown_moment;
        const Run& run = runs_[index];
        if (!overlaps(run)) op.start = op.end = unknown_moment;
        // A graph launch gets the span of its nodes, because some nodes may be cut.
        else if (run.spans_nodes) op.start = run.start, op.end = run.end;
        return op;
    }

    Trace everything_but_rows() const {
        Trace cut;
        cut.base_ns = trace_.base_ns;
        cut.base_realtime_ns = trace_.base_realtime_ns;
        cut.begin = std::clamp(from_, trace_.begin, std::max(trace_.begin, trace_.end));
        cut.end = std::clamp(to_, cut.begin, std::max(cut.begin, trace_.end));
        cut.program = trace_.program;
        cut.strings = trace_.strings;
        cut.devices = trace_.devices;
        cut.streams = trace_.streams;
        cut.threads = trace_.threads;
        cut.graphs = trace_.graphs;
        cut.lost_ops = trace_.lost_ops;
        cut.notes = trace_.notes;
        return cut;
    }

    /// Calls `f` for each operation and node, with its first access and the number of its accesses.
    template <class F> static void for_each_list(Trace& cut, F f) {
        for (TraceOp& op : cut.ops) f(op.first_access, op.accesses);
        for (TraceGraph& graph : cut.graphs)
            for (TraceNode& node : graph.nodes) f(node.first_access, node.accesses);
    }

    /// Copies the accesses that are still used. Several operations or nodes may share an access.
    void copy_accesses(Trace& cut) const {
        // For each access: the number of lists that begin at it, minus the number that end just
        // before it.
        std::vector<std::int64_t> begun(trace_.accesses.size() + 1);
        for_each_list(cut, [&](std::uint32_t first, std::uint32_t count) {
            ++begun[first];
            --begun[std::size_t{first} + count];
        });
        std::vector<std::uint32_t> places(trace_.accesses.size() + 1);
        std::int64_t lists = 0;
        for (std::size_t i = 0; i < trace_.accesses.size(); ++i) {
            places[i] = static_cast<std::uint32_t>(cut.accesses.size());
            lists += begun[i];
            if (lists > 0) cut.accesses.push_back(trace_.accesses[i]);
        }
        for_each_list(cut, [&](std::uint32_t& first, std::uint32_t count) {
            first = count == 0 ? 0 : places[first];
        });
    }

    const Trace& trace_;
    const Moment from_, to_;
    std::vector<Run> runs_;           ///< by operation: when it ran
    std::vector<bool> stays_;         ///< by operation: whether it is kept
    std::vector<std::size_t> order_;  ///< operations on streams, sorted by stream and position
};

}  // namespace

Trace cut(const Trace& trace, Moment from, Moment to) { return Cut(trace, from, to).trace(); }

}  // namespace heddle::detail
