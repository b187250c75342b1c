#include "timeline/file/trace_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/format.hpp"
#include "timeline/file/trace_columns.hpp"

namespace heddle::detail {

namespace {

/// The largest allowed distance of a moment from 0. So differences of moments, and sums with the
/// base, fit into 64 bits.
constexpr Moment farthest = Moment{1} << 61;

/// Checks one trace. `what_` names the kind of row that is being checked, and `row_` counts the
/// rows.
class TraceCheck {
public:
    explicit TraceCheck(const Trace& trace) : trace_(trace) {}

    void run() {
        if (trace_.strings.empty() || !trace_.strings.front().empty())
            throw BadTrace("its first string is not empty");
        moment(trace_.base_ns), moment(trace_.base_realtime_ns);
        moment(trace_.begin), moment(trace_.end);
        rows("device", trace_.devices, [this](const TraceDevice& device) {
            string(device.name), moment(device.clock_error);
            if (device.clock > TraceClock::cupti) fail("clock", to_bits(device.clock));
        });
        rows("stream", trace_.streams, [this](const TraceStream& stream) {
            string(stream.name), index("device", stream.device, trace_.devices);
        });
        rows("thread", trace_.threads, [this](const TraceThread& one) { string(one.name); });
        rows("access", trace_.accesses, [this](const TraceAccess& access) {
            string(access.name);
            if (access.mode > AccessMode::concurrent) fail("mode", to_bits(access.mode));
        });
        rows("operation", trace_.ops, [this](const TraceOp& one) { operation(one); });
        rows("graph", trace_.graphs, [this](const TraceGraph& one) { graph(one); });
        rows("range", trace_.ranges, [this](const TraceRange& range) {
            string(range.name), index("thread", range.thread, trace_.threads);
            moment(range.begin), moment(range.end);
        });
        node_runs();
    }

private:
    template <class Row, class Check>
    void rows(std::string_view what, const std::vector<Row>& all, Check check) {
        what_ = what;
        row_ = 0;
        for (const Row& one : all) check(one), ++row_;
    }

    [[noreturn, gnu::cold]] void fail(std::string_view part, std::uint64_t value) const {
        throw BadTrace(detail::formatted("{} {} has the {} {}, which does not exist", what_, row_,
                                         part, value));
    }
    template <class Row>
    void index(std::string_view part, TraceIndex value, const std::vector<Row>& of) const {
        if (value >= of.size()) fail(part, value);
    }
    template <class Row>
    void index_or_none(std::string_view part, TraceIndex value, const std::vector<Row>& of) const {
        if (value != no_index) index(part, value, of);
    }
    void string(TraceIndex value) const { index("string", value, trace_.strings); }
    void moment(Moment value) const {
        if (value > farthest || value < -farthest)
            throw BadTrace(detail::formatted("{} {} has the time {}, which is out of range", what_,
                                             row_, value));
    }
    void known_moment(Moment value) const {
        if (value != unknown_moment) moment(value);
    }
    void kind(OpKind value) const {
        if (to_bits(value) >= op_kinds) fail("kind", to_bits(value));
    }
    void accesses(std::uint32_t first, std::uint32_t count) const {
        if (first > trace_.accesses.size() || count > trace_.accesses.size() - first)
            fail("access", std::uint64_t{first} + count);
    }

    void operation(const TraceOp& op) const {
        kind(op.kind);
        if (op.mode > OpMode::batched) fail("mode", to_bits(op.mode));
        if (to_bits(op.reason) >= wait_reasons) fail("reason", to_bits(op.reason));
        if (op.result > RunResult::dropped) fail("result", to_bits(op.result));
        string(op.name), string(op.file);
        index_or_none("thread", op.thread, trace_.threads);
        index_or_none("stream", op.stream, trace_.streams);
        index_or_none("device", op.device, trace_.devices);
        index_or_none("stream", op.other, trace_.streams);
        index_or_none("graph", op.graph, trace_.graphs);
        known_moment(op.call_begin), known_moment(op.call_end);
        known_moment(op.start), known_moment(op.end);
        accesses(op.first_access, op.accesses);
    }

    void graph(const TraceGraph& graph) const {
        TraceIndex place = 0;
        for (const TraceNode& node : graph.nodes) {
            string(node.name), string(node.file);
            // The conditional node must precede the nodes of its bodies. So no node is inside
            // itself.
            if (node.inside != no_index && node.inside >= place) fail("node", node.inside);
            ++place;
            kind(node.kind);
            accesses(node.first_access, node.accesses);
            for (const std::uint32_t before : node.after) index("node", before, graph.nodes);
        }
        if (has_circle(graph))
            throw BadTrace(detail::formatted("the dependencies of graph {} form a cycle", row_));
    }

    /// Returns whether the edges form a cycle. Repeatedly removes nodes without successors. If some
    /// nodes cannot be removed, they contain a cycle.
    static bool has_circle(const TraceGraph& graph) {
        std::vector<std::uint32_t> followers(graph.nodes.size()), last;
        for (const TraceNode& node : graph.nodes)
            for (const std::uint32_t before : node.after) ++followers[before];
        for (std::uint32_t i = 0; i < followers.size(); ++i)
            if (followers[i] == 0) last.push_back(i);
        for (std::size_t i = 0; i < last.size(); ++i)
            for (const std::uint32_t before : graph.nodes[last[i]].after)
                if (--followers[before] == 0) last.push_back(before);
        return last.size() != graph.nodes.size();
    }

    /// Checks runs of nodes. A run's launch may be missing, because some operations were lost.
    void node_runs() {
        std::unordered_map<std::uint64_t, std::size_t> nodes;  // number of nodes, by launch
        if (!trace_.node_runs.empty())
            for (const TraceOp& op : trace_.ops)
                if (op.graph != no_index) {
                    const std::size_t own = trace_.graphs[op.graph].nodes.size();
                    std::size_t& least = nodes.try_emplace(op.id, own).first->second;
                    least = std::min(least, own);
                }
        rows("run of a node", trace_.node_runs, [&](const TraceNodeRun& run) {
            known_moment(run.start), known_moment(run.end);
            const auto found = nodes.find(run.launch);
            if (found != nodes.end() && run.node >= found->second) fail("node", run.node);
        });
    }

    const Trace& trace_;
    std::string_view what_ = "recording";
    std::size_t row_ = 0;
};

}  // namespace

void check_trace(const Trace& trace) { TraceCheck(trace).run(); }

}  // namespace heddle::detail
