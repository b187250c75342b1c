// Finds the target of each wait: of the operations that the wait covers, the one that ended last.
#include <algorithm>
#include <optional>
#include <tuple>

#include "timeline/solve/solving.hpp"

namespace heddle::detail {

namespace {

/// The first `count` operations of a stream, which a wait covers.
struct Covered {
    TraceIndex stream = no_index;
    std::size_t count = 0;
};

/// Finds records of events in a trace.
class Records {
public:
    explicit Records(const Trace& trace) {
        for (std::size_t i = 0; i < trace.ops.size(); ++i)
            if (const TraceOp& op = trace.ops[i]; op.kind == OpKind::record &&
                                                  op.mode == OpMode::run && op.event != 0 &&
                                                  op.stream < trace.streams.size())
                all_.emplace_back(op.event, op.generation, static_cast<TraceIndex>(i));
        std::sort(all_.begin(), all_.end());
    }
    /// Returns the record of the event with this generation, or no_index.
    TraceIndex find(std::uint64_t event, std::uint32_t generation) const {
        const auto found =
            std::lower_bound(all_.begin(), all_.end(), std::tuple(event, generation, 0u));
        if (found == all_.end() || std::get<0>(*found) != event ||
            std::get<1>(*found) != generation)
            return no_index;
        return std::get<2>(*found);
    }

private:
    std::vector<std::tuple<std::uint64_t, std::uint32_t, TraceIndex>> all_;
};

/// Follows the operations of each stream in order. At each place, finds the operation that ended
/// last among all that are ordered before the place. A wait needs the result of another stream at
/// some place. So that stream is first followed to that place. In a damaged trace, waits may form a
/// cycle. Then one of these waits uses an incomplete result.
class Follower {
public:
    explicit Follower(Solving& solving)
        : solving_(solving), records_(solving.trace), done_(solving.order.streams()),
          is_waiting_(solving.order.streams()), pending_(solving.order.streams()),
          latest_(solving.order.size(), no_index), last_run_(solving.order.size(), no_index) {}

    void follow_all() {
        for (TraceIndex stream = 0; stream < solving_.order.streams(); ++stream) follow(stream);
        find_host_waits();
        find_device_waits();
    }

private:
    std::optional<Covered> covered_by(const TraceOp& wait) const {
        const StreamOrder& order = solving_.order;
        if (wait.event != 0)
            if (const TraceIndex record = records_.find(wait.event, wait.generation);
                record != no_index) {
                const TraceOp& op = solving_.trace.ops[record];
                return Covered{op.stream, order.covered(op.stream, op.position)};
            }
        if (wait.other >= order.streams()) return std::nullopt;
        return Covered{wait.other, order.covered(wait.other, wait.other_position)};
    }

    static bool is_wait(const TraceOp& op) {
        return op.kind == OpKind::wait || op.kind == OpKind::wait_elided;
    }

    /// Follows one stream to its end, and other streams as far as necessary.
    void follow(TraceIndex stream) {
        std::vector<Covered> todo{{stream, solving_.order.of(stream).size()}};
        while (!todo.empty()) {
            const Covered now = todo.back();
            is_waiting_[now.stream] = done_[now.stream] < now.count;
            if (!is_waiting_[now.stream]) {
                todo.pop_back();
                continue;
            }
            const TraceIndex op = solving_.order.of(now.stream)[done_[now.stream]];
            std::optional<Covered> covered;
            if (is_wait(solving_.trace.ops[op])) covered = covered_by(solving_.trace.ops[op]);
            if (covered && done_[covered->stream] < covered->count &&
                !is_waiting_[covered->stream]) {
                todo.push_back(*covered);
                continue;
            }
            pass(now.stream, op, covered);
        }
    }

    /// Stores the results at the place after the stream's next operation.
    void pass(TraceIndex stream, TraceIndex index, const std::optional<Covered>& covered) {
        const TraceOp& op = solving_.trace.ops[index];
        const std::size_t place = solving_.order.first(stream) + done_[stream];
        const bool is_first = done_[stream]++ == 0;
        latest_[place] = is_first ? no_index : latest_[place - 1];
        last_run_[place] = is_first ? no_index : last_run_[place - 1];
        if (is_wait(op)) {
            pass_wait(stream, place, index, covered);
        } else if (is_known(solving_.ran[index].end)) {
            pending_[stream].before = last_run_[place];
            solving_.needs[index] = std::exchange(pending_[stream], {});
            latest_[place] = last_run_[place] = index;
        }
    }

    void pass_wait(TraceIndex stream, std::size_t place, TraceIndex index,
                   const std::optional<Covered>& covered) {
        const TraceOp& op = solving_.trace.ops[index];
        const TraceIndex target = covered ? at(latest_, *covered) : no_index;
        // The latest operation that the other stream is ordered after may belong to the waiting
        // stream. Then no wait is needed.
        const bool is_own = target != no_index && solving_.trace.ops[target].stream == stream;
        const TraceIndex foreign =
            is_own && covered->stream != stream ? at(last_run_, *covered) : target;
        if (!is_own || foreign != target) solving_.targets[index] = foreign;
        if (op.kind == OpKind::wait_elided) return;

        if (solving_.end_of(target) > solving_.end_of(latest_[place])) latest_[place] = target;
        Needs& needs = pending_[stream];
        const auto end_of_wait = [&](TraceIndex wait) {
            return solving_.end_of(solving_.target_of(wait));
        };
        if (end_of_wait(index) > end_of_wait(needs.wait)) needs.wait = index;
        if (!covered && solving_.trace.lost_ops == 0) needs.unseen = index;
    }

    /// Returns the entry of `known` at the end of the covered operations. `known` is latest_ or
    /// last_run_.
    TraceIndex at(const std::vector<TraceIndex>& known, const Covered& covered) const {
        const std::size_t count = std::min(covered.count, done_[covered.stream]);
        return count == 0 ? no_index : known[solving_.order.first(covered.stream) + count - 1];
    }

    void find_host_waits() {
        const Trace& trace = solving_.trace;
        for (std::size_t i = 0; i < trace.ops.size(); ++i) {
            const TraceOp& wait = trace.ops[i];
            if (!is_host_wait(wait)) continue;
            const auto covered = covered_by(wait);
            if (!covered) continue;
            const TraceIndex target = solving_.targets[i] = at(latest_, *covered);
            if (wait.kind == OpKind::blocked && target != no_index && is_within(wait, target))
                solving_.waited_within.emplace(target, wait.call_begin);
        }
    }

    /// Returns whether the wait happened within the call that enqueued the operation.
    bool is_within(const TraceOp& wait, TraceIndex target) const {
        const TraceOp& op = solving_.trace.ops[target];
        return op.thread == wait.thread && is_known(wait.call_begin) && is_known(op.call_begin) &&
               op.call_begin <= wait.call_begin && wait.call_end <= op.call_end;
    }

    /// Finds the targets of host waits for a device. Such a wait covers all work that was enqueued
    /// on the device before the wait began.
    void find_device_waits() {
        const Trace& trace = solving_.trace;
        using Call = std::pair<Moment, TraceIndex>;
        std::vector<Call> waits, work;
        for (std::size_t i = 0; i < trace.ops.size(); ++i) {
            const TraceOp& op = trace.ops[i];
            const auto index = static_cast<TraceIndex>(i);
            if (is_host_wait(op) && op.kind == OpKind::synchronize && op.stream == no_index &&
                op.other == no_index && op.event == 0 && op.device < trace.devices.size() &&
                is_known(op.call_begin))
                waits.emplace_back(op.call_begin, index);
            else if (is_known(solving_.ran[i].end) && is_known(op.call_end))
                work.emplace_back(op.call_end, index);
        }
        if (waits.empty()) return;
        for (auto* const calls : {&waits, &work})
            if (!std::is_sorted(calls->begin(), calls->end()))
                std::sort(calls->begin(), calls->end());
        std::vector<TraceIndex> last(trace.devices.size(), no_index);
        auto next = work.begin();
        for (const auto& [begin, wait] : waits) {
            for (; next != work.end() && next->first <= begin; ++next)
                if (const TraceIndex device = device_of(trace, trace.ops[next->second].stream);
                    device != no_index &&
                    solving_.end_of(next->second) > solving_.end_of(last[device]))
                    last[device] = next->second;
            solving_.targets[wait] = last[trace.ops[wait].device];
        }
    }

    Solving& solving_;
    Records records_;
    std::vector<std::size_t> done_;     ///< by stream: number of operations followed so far
    std::vector<bool> is_waiting_;      ///< by stream: whether it is being followed
    std::vector<Needs> pending_;        ///< by stream: the needs of its next operation that runs
    std::vector<TraceIndex> latest_;    ///< by place: the operation that ended last before it
    std::vector<TraceIndex> last_run_;  ///< by place: the last operation on the same stream
};

}  // namespace

void follow_waits(Solving& solving) { Follower(solving).follow_all(); }

}  // namespace heddle::detail
