// Finds the critical path. Begins with the operation that ended last, and follows the dependency
// that was satisfied last, again and again.
#include <algorithm>

#include "timeline/solve/solving.hpp"

namespace heddle::detail {

namespace {

/// Finds the last host wait of a thread that really blocked the thread.
class HostWaits {
public:
    explicit HostWaits(const Solving& solving)
        : trace_(solving.trace), waits_(solving.trace.threads.size()) {
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            const TraceOp& op = trace_.ops[i];
            const Moment target_end = solving.end_of(solving.targets[i]);
            if (!is_host_wait(op) || op.thread >= waits_.size() || !is_known(target_end) ||
                !is_known(op.call_end) || target_end <= op.call_begin)
                continue;
            waits_[op.thread].emplace_back(op.call_end, static_cast<TraceIndex>(i));
        }
        for (auto& waits : waits_)
            if (!std::is_sorted(waits.begin(), waits.end())) std::sort(waits.begin(), waits.end());
    }
    /// Returns the last wait that ended at or before `until`, or no_index.
    TraceIndex last_on(TraceIndex thread, Moment until) const {
        if (thread >= waits_.size()) return no_index;
        const auto& waits = waits_[thread];
        const auto next = std::upper_bound(waits.begin(), waits.end(), std::pair(until, no_index));
        return next == waits.begin() ? no_index : (next - 1)->second;
    }

private:
    const Trace& trace_;
    /// By thread: the end of each wait, and the wait.
    std::vector<std::vector<std::pair<Moment, TraceIndex>>> waits_;
};

class PathFinder {
public:
    explicit PathFinder(const Solving& solving)
        : solving_(solving), host_waits_(solving), was_passed_(solving.trace.ops.size()) {}

    std::vector<CriticalStep> find() {
        TraceIndex op = last_to_end();
        if (op == no_index) return {};
        at_ = solving_.ran[op].end;
        while (op != no_index && !was_passed_[op]) {
            was_passed_[op] = true;
            step(CriticalStep::Kind::runs, op, solving_.ran[op].start);
            op = go_before(op);
        }
        std::reverse(steps_.begin(), steps_.end());
        return std::move(steps_);
    }

private:
    TraceIndex last_to_end() const {
        TraceIndex last = no_index;
        for (std::size_t i = 0; i < solving_.ran.size(); ++i)
            if (solving_.ran[i].end > solving_.end_of(last)) last = static_cast<TraceIndex>(i);
        return last;
    }

    /// Adds a step from `begin` to the current start of the path, which grows backwards. Adds no
    /// step if the step would be empty or `begin` is unknown.
    void step(CriticalStep::Kind kind, TraceIndex op, Moment begin) {
        if (begin >= at_ || !is_known(begin)) return;
        steps_.push_back({kind, op, begin, std::exchange(at_, begin)});
    }

    /// Adds the time between the end of the last dependency of `op` and the start of `op`. The
    /// first part is the host's time, the second part the latency on the way to the device. Returns
    /// that dependency.
    TraceIndex go_before(TraceIndex op) {
        const TraceOp& described = solving_.trace.ops[op];
        const Needs& needs = solving_.needs[op];
        TraceIndex last = needs.before;
        if (const TraceIndex target = solving_.target_of(needs.wait);
            solving_.end_of(target) > solving_.end_of(last))
            last = target;
        const Moment free = std::min(solving_.end_of(last), at_);
        const Moment call_begin = sane(described.call_begin);
        step(CriticalStep::Kind::waits, op, std::max(free, solving_.enqueued(op)));
        if (call_begin > free || last == no_index) return go_along_thread(op);
        step(CriticalStep::Kind::host, op, free);
        return last;
    }

    /// Adds the thread's activity since the thread was last held up. Call it if the last dependency
    /// was the host's call. Returns the operation that held up the thread.
    TraceIndex go_along_thread(TraceIndex op) {
        const TraceOp& described = solving_.trace.ops[op];
        const Moment called = sane(described.call_begin);
        if (!is_known(called)) return no_index;
        const TraceIndex wait = host_waits_.last_on(described.thread, called);
        const TraceIndex parent = solving_.host_functions.find(described.parent);
        const bool parent_is_known = parent != no_index && is_known(solving_.ran[parent].end);
        const Moment waited = wait != no_index ? end_of_wait(wait, called) : unknown_moment;
        if (parent_is_known && solving_.ran[parent].start >= waited) {
            step(CriticalStep::Kind::host, op, called);
            return parent;
        }
        step(CriticalStep::Kind::host, op, wait != no_index ? waited : solving_.begin);
        if (wait == no_index) return no_index;
        const TraceIndex target = solving_.targets[wait];
        step(CriticalStep::Kind::waits, wait, solving_.ran[target].end);
        return target;
    }

    /// If a thread polled, its last query may have begun before the awaited work ended.
    Moment end_of_wait(TraceIndex wait, Moment called) const {
        const TraceOp& op = solving_.trace.ops[wait];
        if (op.kind != OpKind::blocked) return op.call_end;
        return std::max(op.call_end, std::min(solving_.end_of(solving_.targets[wait]), called));
    }

    const Solving& solving_;
    const HostWaits host_waits_;
    std::vector<bool> was_passed_;
    std::vector<CriticalStep> steps_;  ///< in reverse order
    Moment at_ = 0;                    ///< where the path has been followed to
};

}  // namespace

std::vector<CriticalStep> critical_path(const Solving& solving) {
    return PathFinder(solving).find();
}

}  // namespace heddle::detail
