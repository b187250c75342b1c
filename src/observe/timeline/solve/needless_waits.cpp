#include "timeline/solve/needless_waits.hpp"

#include <algorithm>

#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

namespace {

/// Limits on the operations and memory uses on one side of a wait. Above them, nothing is compared.
constexpr std::size_t most_operations = 64, most_uses = 512;

bool uses_memory(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::launch:
    case OpKind::graph_launch:
    case OpKind::host_function:
    case OpKind::copy:
    case OpKind::fill:
    case OpKind::native:
    case OpKind::collective: return true;
    default: return false;
    }
}

bool is_wait(OpKind kind) noexcept { return kind == OpKind::wait || kind == OpKind::wait_elided; }

}  // namespace

void NeedlessWaits::order_streams() {
    if (!streams_.empty()) return;
    streams_.resize(trace_.streams.size());
    waiters_.resize(trace_.streams.size());
    for (TraceIndex i = 0; i < trace_.ops.size(); ++i) {
        const TraceOp& op = trace_.ops[i];
        if (op.mode != OpMode::run) continue;
        const bool is_of_host = is_host_wait(op) || op.kind == OpKind::query;
        if (op.stream < streams_.size() && !is_of_host) streams_[op.stream].push_back(i);
        if (op.other < streams_.size() && (is_of_host || is_wait(op.kind)))
            waiters_[op.other].push_back({op.other_position, is_of_host ? no_index : op.stream});
    }
    for (auto& waiters : waiters_) std::ranges::stable_sort(waiters, {}, &Waiter::covered);
    for (auto& ops : streams_) {
        std::ranges::stable_sort(ops, {}, [&](TraceIndex i) { return trace_.ops[i].position; });
        find_windows(ops);
    }
}

void NeedlessWaits::find_windows(std::span<const TraceIndex> ops) {
    struct Last {
        TraceIndex wait = no_index;
        std::uint64_t covered = 0;
    };
    std::unordered_map<TraceIndex, Last> others;  // by stream
    for (const TraceIndex i : ops) {
        const TraceOp& op = trace_.ops[i];
        if (!is_wait(op.kind)) continue;
        Last& last = others[op.other];
        if (last.wait != no_index) windows_[last.wait].next_wait = op.position;
        windows_[i].covered_before = last.covered;
        last = {i, std::max(last.covered, op.other_position)};
    }
}

NeedlessWaits::Conflict NeedlessWaits::find_conflict(TraceIndex index) {
    if (index >= trace_.ops.size()) return {};
    const TraceOp& wait = trace_.ops[index];
    if (wait.kind != OpKind::wait || wait.reason != WaitReason::user ||
        wait.stream >= trace_.streams.size() || wait.other >= trace_.streams.size())
        return {};
    order_streams();
    const auto& [covered_before, next_wait] = windows_[index];
    if (waits_for_others(wait.other, covered_before, wait.other_position, wait.stream) ||
        is_relied_on(wait.stream, wait.position, next_wait, wait.other))
        return {};
    const auto before = uses(wait.other, covered_before, wait.other_position);
    const auto behind = uses(wait.stream, wait.position, next_wait);
    if (!before || !behind || before->empty() || behind->empty()) return {};
    const auto conflicts = [&](const Use& a) {
        return std::ranges::any_of(*behind, [&](const Use& b) {
            return (a.is_write || b.is_write) && a.begin < b.end && b.begin < a.end;
        });
    };
    const auto last = std::find_if(before->rbegin(), before->rend(), conflicts);
    return {true, last != before->rend() ? last->op : no_index};
}

bool NeedlessWaits::is_relied_on(TraceIndex stream, std::uint64_t after, std::uint64_t before,
                                 TraceIndex known) const {
    const auto& waiters = waiters_[stream];
    auto one = std::ranges::lower_bound(waiters, after, {}, &Waiter::covered);
    for (; one != waiters.end() && one->covered < before; ++one)
        if (one->stream != known) return true;
    return false;
}

std::span<const TraceIndex> NeedlessWaits::between(TraceIndex stream, std::uint64_t after,
                                                   std::uint64_t last) const {
    const auto& ops = streams_[stream];
    const auto position_of = [&](TraceIndex i) { return trace_.ops[i].position; };
    const auto first = std::ranges::upper_bound(ops, after, {}, position_of);
    const auto end = std::ranges::upper_bound(ops, std::max(after, last), {}, position_of);
    return {first, end};
}

std::optional<NeedlessWaits::Uses> NeedlessWaits::uses(TraceIndex stream, std::uint64_t after,
                                                       std::uint64_t last) const {
    const auto ops = between(stream, after, last);
    if (ops.size() > most_operations) return std::nullopt;
    Uses found;
    for (const TraceIndex op : ops)
        if (!add_uses(op, found)) return std::nullopt;
    return found;
}

bool NeedlessWaits::waits_for_others(TraceIndex stream, std::uint64_t after, std::uint64_t last,
                                     TraceIndex known) const {
    return std::ranges::any_of(between(stream, after, last), [&](TraceIndex i) {
        return trace_.ops[i].kind == OpKind::wait && trace_.ops[i].other != known;
    });
}

/// Returns false if the memory of the operation is unknown.
bool NeedlessWaits::add_uses(TraceIndex index, Uses& uses) const {
    const TraceOp& op = trace_.ops[index];
    if (!uses_memory(op.kind)) return true;
    if (op.holds_pointers) return false;
    if (op.kind != OpKind::graph_launch) return add_uses(index, op.first_access, op.accesses, uses);
    if (op.graph >= trace_.graphs.size()) return false;
    return std::ranges::all_of(trace_.graphs[op.graph].nodes, [&](const TraceNode& node) {
        return !uses_memory(node.kind) ||
               (node.accesses_known && add_uses(index, node.first_access, node.accesses, uses));
    });
}

bool NeedlessWaits::add_uses(TraceIndex op, std::uint32_t first, std::uint32_t count,
                             Uses& uses) const {
    if (count == 0 || first > trace_.accesses.size() || count > trace_.accesses.size() - first)
        return false;
    if (uses.size() + count > most_uses) return false;
    for (std::uint32_t i = first; i < first + count; ++i) {
        const TraceAccess& access = trace_.accesses[i];
        uses.push_back({access.address(), access.end(), access.writes(), op});
    }
    return true;
}

}  // namespace heddle::detail
