#include "timeline/record/collect.hpp"

#include <algorithm>
#include <utility>

namespace heddle::detail {

void TraceCollector::add(const ThreadLog& log, const std::string& name) {
    const auto thread = static_cast<TraceIndex>(trace_.threads.size());
    const std::size_t before = trace_.ops.size();
    log.ops().read([&](const Slot* slots, std::size_t count) { add_ops(slots, count, thread); });
    log.runs().read([&](const Slot* slots, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) add_run(slots[i].run);
    });
    log.clocks().read([&](const Slot* slots, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const ClockSlot& one = slots[i].clock;
            readings_.push_back({one.device, moment(one.before_ns), one.device_ns,
                                 moment(one.after_ns), one.clock});
        }
    });
    const std::size_t ranges = trace_.ranges.size();
    log.ranges().read([&](const Slot* slots, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const RangeSlot& range = slots[i].range;
            trace_.ranges.push_back(
                {thread, range.name, moment(range.begin_ns), moment(range.end_ns)});
        }
    });
    const std::size_t found = trace_.ops.size() - before;
    trace_.lost_ops += std::max<std::uint64_t>(log.op_count(), found) - found;
    // Skips a worker thread that only ran work: it made no calls.
    if (found == 0 && trace_.ranges.size() == ranges) return;
    trace_.threads.emplace_back();
    thread_names_.emplace_back(thread, name);
}

void TraceCollector::add_run(const RunSlot& run) {
    if (run.clock >= 0)
        device_runs_.push_back({run.clock, run.id,
                                run.start_ns != OpRun::unknown ? run.start_ns : unknown_moment,
                                run.end_ns, run.measured_by, run.node});
    else
        runs_.push_back({run.id, run.node, moment(run.start_ns), moment(run.end_ns),
                         run.end_ns != 0, run.workers, run.result});
}

void TraceCollector::add_ops(const Slot* slots, std::size_t count, TraceIndex thread) {
    for (std::size_t i = 0; i < count;) i += add_op(slots + i, thread);
}

std::size_t TraceCollector::add_op(const Slot* slot, TraceIndex thread) {
    const OpSlot& from = slot->op;
    TraceOp op;
    op.id = from.id;
    op.kind = from.kind;
    op.mode = from.mode;
    op.reason = from.reason;
    op.name = from.name;
    op.file = from.file;
    op.line = from.line;
    op.thread = thread;
    op.stream = from.stream;
    op.position = from.position;
    op.holds_pointers = (from.flags & OpSlot::holds_pointers) != 0;
    op.call_begin = moment(from.begin_ns);
    op.call_end = op.call_begin + from.duration_ns;
    op.other = from.other;
    (from.other != no_index ? op.other_position : op.bytes) = from.amount;
    std::size_t used = 1;
    if ((from.flags & OpSlot::has_rare) != 0) {
        const RareSlot& rare = slot[used++].rare;
        op.event = rare.event;
        op.generation = rare.generation;
        op.recording = rare.recording;
        op.parent = rare.parent;
        op.collective = rare.collective;
        op.share = rare.share;
        op.shares = rare.shares;
        op.graph = rare.graph;
        op.device = rare.device;
        if (rare.long_duration_ns != 0) op.call_end = op.call_begin + rare.long_duration_ns;
    }
    op.first_access = static_cast<std::uint32_t>(trace_.accesses.size());
    op.accesses = from.accesses;
    for (std::uint32_t i = 0; i < from.accesses; ++i)
        trace_.accesses.push_back({slot[used++].access});
    trace_.ops.push_back(op);
    return used;
}

void TraceCollector::finish() {
    // The tables are copied last, so that they contain every name that the records refer to.
    tables_.graphs.write(trace_);
    trace_.streams = tables_.streams.streams();
    trace_.devices = tables_.streams.devices();
    trace_.strings = tables_.strings.all();
    for (const auto& [thread, name] : thread_names_) {
        trace_.threads[thread].name = static_cast<TraceIndex>(trace_.strings.size());
        trace_.strings.push_back(name);
    }
    for (TraceOp& op : trace_.ops)
        if (op.stream != no_index) op.device = trace_.streams[op.stream].device;
    std::ranges::stable_sort(trace_.ops, {}, &TraceOp::call_end);
    give_times();
    give_device_times(trace_, device_runs_, readings_);
    name_memory();
}

void TraceCollector::give_times() {
    std::vector<std::pair<std::uint64_t, TraceIndex>> by_id;
    by_id.reserve(trace_.ops.size());
    for (std::size_t i = 0; i < trace_.ops.size(); ++i)
        by_id.emplace_back(trace_.ops[i].id, static_cast<TraceIndex>(i));
    std::ranges::sort(by_id);
    for (const Run& run : runs_) {
        const auto found =
            std::ranges::lower_bound(by_id, run.id, {}, &decltype(by_id)::value_type::first);
        // The operation was lost, or it is not recorded yet.
        if (found == by_id.end() || found->first != run.id) continue;
        if (run.node >= 0) {
            if (run.has_times)
                trace_.node_runs.push_back(
                    {run.id, static_cast<std::uint32_t>(run.node), run.start, run.end});
            continue;
        }
        TraceOp& op = trace_.ops[found->second];
        if (run.result != RunResult::succeeded) op.result = run.result;
        if (!run.has_times) continue;
        const bool is_first = op.start == unknown_moment;
        op.start = is_first ? run.start : std::min(op.start, run.start);
        op.end = is_first ? run.end : std::max(op.end, run.end);
        op.workers = std::max(op.workers, run.workers);
    }
    sort_node_runs(trace_);
}

void TraceCollector::name_memory() {
    if (memory_names_.empty()) return;
    std::unordered_map<std::uint64_t, TraceIndex> known;
    for (const auto& [block, name] : memory_names_) {
        known.emplace(block, static_cast<TraceIndex>(trace_.strings.size()));
        trace_.strings.push_back(name);
    }
    for (TraceAccess& access : trace_.accesses)
        if (const auto found = known.find(access.allocation); found != known.end())
            access.name = found->second;
}

}  // namespace heddle::detail
