// Calls on streams that a capture or a batch records: operations, waits, events, and memory.
#include "core/stream/recorded_calls.hpp"

#include "core/base/fork.hpp"
#include "core/graph/build.hpp"
#include "core/graph/memory_use.hpp"
#include "core/memory/memory.hpp"
#include "core/recording/recorder.hpp"
#include "core/stream/order.hpp"
#include "core/stream/usable.hpp"
#include <heddle/device/peer_access.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle::detail {

namespace {
Recorder::Point point_of(const Recorder::Mark& mark) {
    if (mark.op < 0) return mark.at;
    return {{static_cast<std::uint32_t>(mark.op)}, {}};
}

/// Returns the operation that the stream's next kernel may overlap, or -1. With `on_stream`, this
/// is the stream's newest operation, or -1 if the stream has waited since: the kernel must follow
/// that wait.
std::int64_t primary_of(const Recorder::Participant& one, const LaunchOptions& options) {
    if (options.dependence == Dependence::on_event) return one.primary;
    const bool alone = one.at.last_ops.size() == 1 && one.at.last_ops.front() == one.own;
    return options.dependence == Dependence::on_stream && alone ? one.own : -1;
}
}  // namespace

// Operations --------------------------------------------------------------------------------------

bool record_work(StreamState& state, const WorkType& type, void* self, std::size_t count,
                 std::span<const MemoryArgument> memory, const LaunchOptions& options,
                 const SourceLocation& where) try {
    StreamRecord& stream = record_of(state);
    const Recorded r(stream);
    if (!r || !r->accept(stream, Recorder::Wants::nothing, type.op->call, where)) return false;
    const std::int64_t primary = primary_of(r->participant(stream), options);
    LaunchOptions kept = options;
    kept.dependence = Dependence::none;  // the dependency is stored as an edge
    const bool is_kernel = type.kernel != KernelKind::none;
    if (stream.priority != 0 && is_kernel && kept.priority == LaunchOptions::inherit_priority)
        // Stores the stream's priority in the node, as CUDA's captures do. The graph may later be
        // launched on a stream with another priority.
        kept.priority = stream.priority;
    const NodeKind kind = is_kernel ? NodeKind::kernel : NodeKind::host_function;
    r->add(stream, kind, where, [&](std::uint32_t) {
        for (const MemoryArgument& one : memory)
            if (one.block != nullptr) r->use(stream, *one.block, one.writes);
        if (is_observed()) r->tape->set_accesses(memory);
        r->tape->set_work(type, self, count, kept);  // must be last, because it moves the closure
        if (primary >= 0) r->tape->set_primary(static_cast<std::uint32_t>(primary));
    });
    return true;
} catch (...) {
    rethrow_as_error(type.op->call, where);
}

bool record_copy(StreamRecord& stream, const Operand& to, const Operand& from,
                 const SourceLocation& where) {
    using Wants = Recorder::Wants;
    const Recorded r(stream);
    if (!r) return false;
    const bool host =
        to.space.kind == MemoryKind::pageable || from.space.kind == MemoryKind::pageable;
    const bool peers = to.space.device.is_cuda() && from.space.device.is_cuda() &&
                       to.space.device != from.space.device;
    const bool apart = peers && !is_pool_access_enabled(to.space.device, from.space.device);
    if (!r->accept(stream,
                   host    ? Wants::pageable
                   : apart ? Wants::apart
                           : Wants::nothing,
                   "copy", where))
        return false;
    r->add(stream, NodeKind::copy, where, [&](std::uint32_t) {
        r->tape->set_copy(to, from);
        if (to.owner != nullptr) r->use(stream, *to.owner, true);
        if (from.owner != nullptr) r->use(stream, *from.owner, false);
    });
    return true;
}

bool record_fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
                 const SourceLocation& where) {
    using Wants = Recorder::Wants;
    const Recorded r(stream);
    const bool host = to.space.kind == MemoryKind::pageable;
    if (!r || !r->accept(stream, host ? Wants::pageable : Wants::nothing, "fill", where))
        return false;
    r->add(stream, NodeKind::fill, where, [&](std::uint32_t) {
        r->tape->set_fill(to, value, size);
        if (to.owner != nullptr) r->use(stream, *to.owner, true);
    });
    return true;
}

namespace {
/// Adds a node that runs graphs. The node counts as a user of all memory that these graphs use. If
/// the graphs own memory, their clones share it. So the node is ordered after earlier users of that
/// memory.
void add_graph_node(Recorder& r, StreamRecord& stream, const std::shared_ptr<NodeData>& node,
                    const std::vector<GraphData*>& graphs, const SourceLocation& where) {
    std::vector<std::uint32_t> last_ops = r.participant(stream).at.last_ops;
    for (GraphData* graph : graphs) {
        if (!graph->blocks_known) find_blocks(*graph);
        for (const Block* block : graph->owned) merge(last_ops, r.tape->users_of(*block));
    }
    r.participant(stream).at.last_ops = std::move(last_ops);
    r.add(stream, node->kind, where, [&](std::uint32_t) {
        for (const GraphData* graph : graphs)
            for (Block* block : graph->blocks) r.use(stream, *block, true);
        r.tape->set_node(node);
    });
    r.participant(stream).own = -1;
}
}  // namespace

bool record_graph(StreamRecord& stream, GraphData& graph, const SourceLocation& where) {
    const Recorded r(stream);
    if (!r || !r->accept(stream, Recorder::Wants::graph, "launch", where)) return false;
    if (graph.nodes.empty()) return true;
    auto node = std::make_shared<NodeData>();
    node->kind = NodeKind::child_graph;
    node->child = clone_graph(graph);
    add_graph_node(*r, stream, node, {node->child.get()}, where);
    return true;
}

void record_node(StreamRecord& stream, std::shared_ptr<NodeData> node,
                 const SourceLocation& where) {
    const Recorded r(stream);
    if (!r || !r->accept(stream, Recorder::Wants::nothing, "capture_if or capture_while", where))
        return;
    std::vector<GraphData*> bodies;
    if (node->conditional != nullptr)
        for (const auto& body : node->conditional->bodies) bodies.push_back(body.get());
    add_graph_node(*r, stream, node, bodies, where);
}

void record_wait_node(StreamRecord& stream, EventState& event, const SourceLocation& where) {
    const Recorded r(stream);
    if (!r || !r->accept(stream, Recorder::Wants::nothing, "wait_external", where)) return;
    r->add(stream, NodeKind::wait_event, where,
           [&](std::uint32_t op) { r->tape->set_event(op, &event); });
}

// Order -------------------------------------------------------------------------------------------

bool record_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    if (const Recorded theirs(other); theirs) {
        Recorder& r = *theirs;
        r.collect_external(r.participant(other), where);
        const Recorder::Point point = r.participant(other).at;
        if (waiter.recorder.load(std::memory_order_acquire) == &r) {
            r.wait_inside(waiter, &other, point, where);
            return true;
        }
        if (r.join(waiter, point, "wait_stream", where)) return true;
        r.flush(where);
    }
    // If a batch recorded `other`, its work has been submitted above.
    const Recorded mine(waiter);
    if (!mine || mine->is_capture()) return false;
    // If no wait has to be enqueued, the batch stays open.
    const WaitPlan plan = decide_wait(waiter, other, where, Recorders::asked);
    if (plan.verdict.action != WaitAction::elide) mine->step_aside(waiter, where);
    return false;
}

bool record_event_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) {
    if (const Recorded theirs(event); theirs) {
        Recorder& r = *theirs;
        const Recorder::Point point = point_of(*r.mark_of(event));
        if (waiter.recorder.load(std::memory_order_acquire) == &r) {
            r.wait_inside(waiter, nullptr, point, where);
            return true;
        }
        if (r.join(waiter, point, "wait_event", where)) return true;
        r.flush(where);
    }
    const Recorded mine(waiter);
    if (mine && !mine->is_capture()) mine->step_aside(waiter, where);
    return false;
}

bool record_event_point(EventState& event, StreamRecord& stream, bool external,
                        const SourceLocation& where) {
    forget_mark(event);
    const Recorded r(stream);
    if (!r) return false;
    const bool is_node = event.options.timing || external;
    if (r->participant(stream).stream == nullptr) return false;
    if (is_node || !r->is_capture()) {
        if (!r->accept(stream, Recorder::Wants::nothing, "record_event", where)) return false;
    } else {
        r->collect_external(r->participant(stream), where);
    }
    std::erase_if(r->marks, [](const Recorder::Mark& one) { return one.event == nullptr; });
    Recorder::Mark& mark =
        r->marks.emplace_back(Recorder::Mark{nullptr, r->participant(stream).at, -1});
    if (is_node)
        mark.op = r->add(stream, NodeKind::record_event, where,
                         [&](std::uint32_t op) { r->tape->set_event(op, &event); });
    mark.event = &event;
    event.recorded = true;
    event.stream = &stream;
    event.stream_id = stream.id.load(std::memory_order_relaxed);
    event.submissions = stream.submissions.load(std::memory_order_relaxed);
    event.capture_id = r->id;
    event.countable = false;
    event.recorder.store(&*r, std::memory_order_release);
    return true;
}

bool record_primary(StreamRecord& waiter, EventState& event) {
    const Recorded r(waiter);
    const Recorder::Mark* const mark = r ? r->mark_of(event) : nullptr;
    if (mark == nullptr || mark->op >= 0 || mark->at.last_ops.size() != 1) return false;
    r->participant(waiter).primary = mark->at.last_ops.front();
    return true;
}

void send_batch_of(StreamRecord& stream, const SourceLocation& where) {
    // If the stream is in a capture inside a batch, only the batch can be flushed. It may have
    // recorded more work of other streams since the capture began.
    for (;;) {
        Recorder* const r = stream.outermost.load(std::memory_order_acquire);
        if (r == nullptr || r->is_capture()) return;
        r->lock.lock();
        const Recorded held(*r);
        if (stream.outermost.load(std::memory_order_acquire) != r) continue;
        return r->flush(where);
    }
}

void send_batch_of(EventState& event, const SourceLocation& where) {
    const Recorded r(event);
    if (r) r->flush(where);
}

namespace {
void refuse_captured(StreamRecord& stream, const char* call, const SourceLocation& where) {
    if (is_captured(stream)) throw_capturing(stream, call, where);
}

/// Tries to flush the batch that records the stream or event. Returns false if another thread holds
/// the batch's lock.
template <class Kind> bool try_send(Kind& recorded, const SourceLocation& where) {
    Recorder* const r = recorded.recorder.load(std::memory_order_acquire);
    if (r == nullptr) return true;
    if (!r->lock.try_lock()) return false;
    const Recorded held(*r);
    if (recorded.recorder.load(std::memory_order_acquire) != r) return false;
    r->flush(where);
    return true;
}
}  // namespace

void leave_to_host(StreamRecord& stream, const char* call, const SourceLocation& where) {
    if (!stream.has(stream_flag::recording)) return;
    refuse_captured(stream, call, where);
    send_batch_of(stream, where);
}

bool may_query(StreamRecord& stream, const char* call, const SourceLocation& where) {
    if (!stream.has(stream_flag::recording)) return true;
    refuse_captured(stream, call, where);
    return try_send(stream, where);
}

bool may_query(EventState& event, const SourceLocation& where) { return try_send(event, where); }

void note_handed_out(StreamRecord& stream, const SourceLocation& where) {
    {
        const Recorded r(stream);
        if (!r) return;
        if (r->is_capture()) {
            Recorder::Participant& one = r->participant(stream);
            if (one.held == nullptr)
                one.held = stream.backend->capture_foreign(stream, true, r->capture_mode(), where);
            return;
        }
        r->flush(where);
    }
    leave_recording(stream);
}

bool make_way(StreamRecord& stream, const SourceLocation& where) {
    const Recorded r(stream);
    if (!r) return true;  // the stream has left, and may already be in another batch
    if (r->is_capture() || stream.participant == 0) return false;
    r->step_aside(stream, where);
    return true;
}

void forget_mark(EventState& event) noexcept {
    const Recorded r(event);
    if (!r) return;
    Recorder::Mark& mark = *r->mark_of(event);
    if (mark.op >= 0) r->tape->make_empty(static_cast<std::uint32_t>(mark.op));
    mark.event = nullptr;
    event.capture_id = 0;
    event.recorder.store(nullptr, std::memory_order_release);
}

void leave_recording(StreamRecord& stream) noexcept {
    for (;;) {
        const Recorded r(stream);
        if (!r) return;
        r->leave(stream);
    }
}

void note_branch(StreamRecord& branch, StreamRecord& base) noexcept {
    const Recorded r(branch);
    if (!r || base.recorder.load(std::memory_order_acquire) != &*r) return;
    Recorder::Participant& one = r->participant(branch);
    one.base_id = base.id.load(std::memory_order_relaxed);
    one.base_participant = base.participant;
}

void leave_joined(StreamRecord& branch, StreamRecord& base) noexcept {
    for (;;) {
        const Recorded r(branch);
        if (!r) return;
        r->leave_joined(branch, base);
    }
}

void leave_batch_when_sent(StreamRecord& stream) noexcept {
    const Recorded r(stream);
    if (r) r->leave_when_sent(stream);
}

bool stay_in_own_batch(StreamRecord& stream) noexcept {
    for (;;) {
        Recorder* const r = stream.recorder.load(std::memory_order_acquire);
        if (r == nullptr) return true;
        if (r->is_mine()) break;
        // Does not acquire the lock, which another thread may hold for long. If the recorder was
        // reused since it was read, is_mine() refers to a later recording. So the stream's recorder
        // is read again.
        if (stream.recorder.load(std::memory_order_acquire) == r) return false;
    }
    const Recorded held(stream);
    if (held) held->participant(stream).leaves = false;
    return true;
}

void forget_past_failure(StreamRecord& stream) noexcept {
    StreamPart::Past forgotten;  // destroyed last, without the lock: it may own a failure
    const Recorded r(stream);
    if (!r || r->is_capture()) return;
    Recorder::Participant& one = r->participant(stream);
    forgotten = std::exchange(one.past, {stream.fallible_outcome(), one.submitted, {}});
}

// Memory ------------------------------------------------------------------------------------------

void note_recorded_use(StreamRecord& stream, Block& block) {
    if (!stream.has(stream_flag::recording)) return;
    const Recorded r(stream);
    if (r) r->declare_use(stream, block);
}

bool keep_for_batch(Block& block, std::span<const StreamUse> users, const Recorder* sent) noexcept {
    for (const StreamUse& use : users) {
        if (!use.stream->has(stream_flag::recording)) continue;
        // Does not lock the recorder, because its lock may be held for long. keep() itself checks
        // whether the batch is still open. A batch is always the outermost recorder, and it may
        // have recorded work of streams that have left it.
        Recorder* const r = use.stream->outermost.load(std::memory_order_acquire);
        if (r != nullptr && r != sent && r->keep(block)) return true;
    }
    return false;
}

}  // namespace heddle::detail
