#include "check/engine.hpp"

#include <algorithm>

namespace heddle::detail {

namespace {

/// Returns whether the operation runs, now or when its batch is submitted.
bool will_run(const CheckOp& op) noexcept { return op.mode != OpMode::captured; }

/// Returns whether the operation requires that later users of its stream wait. A copy is not
/// counted: a copy of pageable memory may be complete when the call returns.
bool needs_waits(const CheckOp& op) noexcept {
    switch (op.kind) {
    case OpKind::launch:
    case OpKind::native:
    case OpKind::fill: return !op.accesses.empty();
    case OpKind::host_function: return true;
    default: return false;
    }
}

}  // namespace

void CheckEngine::add(const CheckOp& op) {
    if (thread_ == 0) thread_ = op.thread;
    has_threads_ = has_threads_ || op.thread != thread_;
    // The host's half of a pageable copy is added next. A copy that does not run has no such half.
    if (op.kind == OpKind::copy && !will_run(op)) copies_.at(op.thread, floor_) = {};
    if (!will_run(op) || op.kind == OpKind::blocked) return;
    if (op.kind == OpKind::synchronize_begin) return begin_host_wait(op);
    if (op.kind == OpKind::synchronize) return end_host_wait(op);
    if (op.kind == OpKind::query) return raise_floor(target_of(op), op.site);
    if (op.stream != 0 && op.kind != OpKind::host_function_begin) return add_on_stream(op);
    add_on_host(op);
}

void CheckEngine::add_on_host(const CheckOp& op) {
    switch (op.kind) {
    case OpKind::host_access: return access_by_host(op);
    case OpKind::allocate: return allocate(op, nullptr, {host_slot, ++host_position_});
    case OpKind::free: return free(op, nullptr, {host_slot, ++host_position_});
    case OpKind::export_event:
    case OpKind::import_event:
    case OpKind::expose: return tie_event(op);
    case OpKind::wait_for_users: return come_after_users(op, nullptr);
    case OpKind::abandon: return abandon(op.recording);
    default: return;
    }
}

CheckEngine::Step CheckEngine::begin(const CheckOp& op) {
    streams_.forget_covered(floor_);
    memory_.forget_covered(floor_);
    StreamTrack& stream = streams_.at(op.stream);
    const Epoch epoch = stream.epoch(op.position);
    stream.last = std::max(stream.last, epoch.position());
    stream.device = op.device;
    if (op.parent != 0) come_from(stream, op);
    return {op, &stream, epoch};
}

/// Orders the stream's work after the host function that enqueues the operation, and after the work
/// before that function.
void CheckEngine::come_from(StreamTrack& stream, const CheckOp& op) {
    if (const Past* const function = functions_.find(op.parent))
        stream.clock.join(function->moment.before, function->moment.at, floor_);
    else stream.clock.join(functions_.forgotten(), floor_);
}

void CheckEngine::add_on_stream(const CheckOp& op) {
    const Step step = begin(op);
    StreamTrack& stream = *step.stream;
    switch (op.kind) {
    case OpKind::record: record(step); break;
    case OpKind::wait:
    case OpKind::wait_elided: wait(step); break;
    case OpKind::allocate: allocate(op, &stream, step.epoch); break;
    case OpKind::free: free(op, &stream, step.epoch); break;
    case OpKind::expose:
    case OpKind::wrap: stream.leak = op.site; break;
    case OpKind::dropped: stream.poisoned = op.site; break;
    case OpKind::wait_for_users: come_after_users(op, &stream); break;
    case OpKind::used_on: become_known(op, stream); break;
    default: add_work(step);
    }
    if (stream.leak != 0) leaks_.add({stream.clock, step.epoch}, stream.leak);
    stream.keep_stage(step.epoch.position(), floor_);
}

void CheckEngine::add_work(const Step& step) {
    const CheckOp& op = step.op;
    if (op.kind == OpKind::graph_launch && op.recording != 0 && op.mode == OpMode::run)
        return sent_batch(op);
    step.stream->poisoned = 0;  // a failed stream drops operations, so this one has recovered
    if (op.mode == OpMode::batched) batched_[op.recording].push_back(step.epoch);
    if (op.kind == OpKind::graph_launch) launch_graph(step);
    else if (op.kind == OpKind::collective) share(step);
    else access_all(step);
    remember_work(step);
}

void CheckEngine::remember_work(const Step& step) {
    const CheckOp& op = step.op;
    StreamTrack& stream = *step.stream;
    if (op.id != 0 && runs_functions(op))
        functions_.at(op.id, floor_) = {{stream.clock, step.epoch}, op.site};
    if (op.kind == OpKind::copy) copies_.at(op.thread, floor_) = {{stream.clock, step.epoch}};
    if (op.may_signal) leaks_.add({stream.clock, step.epoch}, op.site);
    if (!needs_waits(op) || step.epoch.position() < stream.last_work) return;
    stream.last_work = step.epoch.position();
}

bool CheckEngine::runs_functions(const CheckOp& op) {
    if (op.kind == OpKind::host_function) return true;
    return op.kind == OpKind::graph_launch && op.shape != nullptr &&
           known_shape(*op.shape).use.may_signal;
}

void CheckEngine::finish() {
    for (auto& [number, collective] : collectives_) end_collective(collective, false);
    collectives_.clear();
}

}  // namespace heddle::detail
