#include "core/recording/capture_recorder.hpp"
#include "core/base/errors.hpp"

#include <algorithm>

#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "core/graph/graph.hpp"
#include "core/memory/users.hpp"

namespace heddle::detail {

namespace {
constinit RecorderPool<CaptureRecorder> captures;
const ForkRegistration recorders_registered{ForkOrder::recorders, captures.lock()};
}  // namespace

CaptureRecorder& CaptureRecorder::start(StreamRecord& stream, CaptureMode mode,
                                        const SourceLocation& where) {
    CaptureRecorder& capture = captures.take();
    capture.mode_ = mode;
    capture.bodies = 0;
    try {
        capture.begin(stream, where);
    } catch (...) {
        captures.give(capture);
        throw;
    }
    return capture;
}

void CaptureRecorder::finish(CaptureRecorder& capture) noexcept {
    {
        capture.lock.lock();
        const Recorded held(capture);
        capture.end();
        capture.elsewhere.end();
        capture.freed_.clear();
        capture.owned_.clear();
        capture.declared_.clear();
    }
    captures.give(capture);
}

std::string CaptureRecorder::unjoined(const std::vector<bool>& reached) const {
    std::string names;
    for (std::size_t i = 1; i < participants.size(); ++i) {
        const Participant& one = participants[i];
        const bool joined =
            std::ranges::all_of(one.at.last_ops, [&](std::uint32_t op) { return reached[op]; });
        if (!joined) names += formatted("{}'{}'", names.empty() ? "" : ", ", one.name);
    }
    return names;
}

std::unique_ptr<GraphData> CaptureRecorder::take(bool join, const SourceLocation& where) {
    TapeOwner taken;
    std::vector<BlockUse> declared;
    std::vector<std::string> streams;
    {
        lock.lock();
        const Recorded held(*this);
        for (Participant& one : participants) {
            streams.push_back(one.name);
            collect_external(one, where);
            one.held.reset();
            one.lent.reset();
        }
        // With `join`, the check is skipped, and no edges are needed. A launch is complete when all
        // nodes are, so it includes streams that were not joined.
        if (const std::string names =
                join ? "" : unjoined(reached_from(*tape, participants[0].at.last_ops));
            !names.empty())
            usage_error(
                {"capture", where, device},
                "the first stream has not waited for these streams of the capture: {}. Make it "
                "wait for each of them by wait_stream(), or capture with {{.join = true}}",
                names);
        // An event that became a node is recorded by each launch of the graph, so it leaves the
        // capture. All other events still belong to the capture.
        for (Mark& mark : marks) {
            if (mark.event == nullptr) continue;
            if (mark.op >= 0) {
                mark.event->capture_id = 0;
                mark.event->recorded = false;
            }
            mark.event->recorder.store(nullptr, std::memory_order_release);
        }
        marks.clear();
        tell_capture_around();
        for (const Declared& one : declared_) declared.push_back({one.block, one.serial});
        TapeOwner fresh = new_tape();
        taken = std::exchange(tape, std::move(fresh));
    }
    std::unique_ptr<GraphData> graph = graph_of(taken.shared(), device, where, streams);
    // Each launch of the graph uses the declared memory. A launch counts as one use of all of the
    // graph's memory, so any node can list the declared blocks.
    if (!graph->nodes.empty()) graph->nodes.back()->declared = std::move(declared);
    return graph;
}

void CaptureRecorder::report_empty(const SourceLocation& where) noexcept try {
    std::string mine, other;
    {
        const std::lock_guard guard(lock);
        if (participants.empty() || participants[0].stream == nullptr) return;
        mine = participants[0].name;
        other = elsewhere.find();
    }
    if (other.empty()) return;
    usage_error({"capture", where, device},
                "nothing was captured on '{}', because work was enqueued directly on '{}', which "
                "is not part of the capture: enqueue the work without a stream or on '{}', or "
                "first make '{}' wait for '{}' by wait_stream()",
                mine, other, mine, other, mine);
} catch (...) {
    if (!is_want_of_memory()) report(std::current_exception());
}

void CaptureRecorder::refuse_in_body(StreamRecord& stream, const SourceLocation& where) const {
    if (bodies == 0) return;
    usage_error({"capture_if or capture_while", where, stream},
                "the stream belongs to the surrounding capture, so its work would not be part of "
                "the body: in the body, use the condition's stream, or streams that wait for that "
                "stream inside the body");
}

bool CaptureRecorder::accept(StreamRecord& stream, Wants wants, const char* call,
                             const SourceLocation& where) {
    if (wants == Wants::pageable)
        usage_error({call, where, stream},
                    "pageable memory cannot be used in a capture, because the host cannot "
                    "determine when it is safe to change the memory: use pinned()");
    refuse_in_body(stream, where);
    collect_external(participant(stream), where);
    return true;
}

bool CaptureRecorder::join(StreamRecord& stream, const Point& point, const char* call,
                           const SourceLocation& where) {
    if (is_captured(stream)) return false;  // the stream is in another capture: the caller throws
    if (stream.backend->capture_id(stream) != 0)
        usage_error({call, where, stream}, "the stream is already in another capture, begun "
                                           "outside heddle: end that capture first");
    if (device.is_cpu() && stream.device.is_cuda())
        usage_error({call, where, stream},
                    "a stream of a CUDA device cannot join a capture that began on a stream of a "
                    "CPU device: begin the capture on the CUDA stream");
    for (;;) {
        // If a batch records the stream, flushes it. The batch resumes after the capture. Lock
        // order: first a capture's lock, then a batch's.
        const Recorded batch(stream);
        if (batch && batch->is_capture()) return false;
        if (batch) batch->flush(where);
        if (attach(stream, point, batch ? &*batch : nullptr, where)) return true;
    }
}

void CaptureRecorder::wait_inside(StreamRecord& waiter, StreamRecord*, const Point& point,
                                  const SourceLocation& where) {
    refuse_in_body(waiter, where);
    collect_external(participant(waiter), where);
    merge(participant(waiter).at, point);
}

// Memory ------------------------------------------------------------------------------------------

/// Returns whether the stream's next operation is ordered after all uses of a freed block. `before`
/// has the operations that precede it.
bool CaptureRecorder::is_after(StreamRecord& stream, const Freed& freed,
                               const std::vector<bool>& before) const {
    const auto precede = [&](const std::vector<std::uint32_t>& ops) {
        return std::ranges::all_of(ops, [&](std::uint32_t one) { return before[one]; });
    };
    // A stream that waits for another one collects that stream's native work first. So no other
    // stream is ordered after work that was not collected.
    return precede(freed.after) && std::ranges::all_of(freed.not_collected, [&](const auto& work) {
               const Participant& one = participants[work.participant];
               return one.stream == &stream ||
                      (one.collections != work.collections && precede(one.at.last_ops));
           });
}

Block* CaptureRecorder::take_freed(StreamRecord& stream, std::size_t bytes) {
    if (freed_.empty()) return nullptr;
    const std::vector<bool> before = reached_from(*tape, participant(stream).at.last_ops);
    for (auto freed = freed_.begin(); freed != freed_.end(); ++freed) {
        if (freed->block->device != stream.device || freed->block->bytes < bytes ||
            freed->block->bytes / 2 > bytes)
            continue;
        // Reuses memory only if the next operation is already ordered after all its uses, because
        // more memory costs less than an additional dependency.
        if (!is_after(stream, *freed, before)) continue;
        Block* const block = freed->block;
        freed_.erase(freed);
        block->owners.fetch_add(1, std::memory_order_relaxed);
        // The next kernel must not overlap earlier ones, which may still use the block.
        participant(stream).own = -1;
        return block;
    }
    return nullptr;
}

void CaptureRecorder::own(StreamRecord& stream, Block& block, const SourceLocation& where) {
    accept(stream, Wants::nothing, allocating_call, where);
    auto node = std::make_shared<NodeData>();
    owned_.reserve(owned_.size() + 1);
    block.owners.fetch_add(1, std::memory_order_relaxed);
    BlockOwner share(block);
    node->owned.push_back(std::move(share));
    add(stream, NodeKind::allocate, where, [&](std::uint32_t) {
        use(stream, block, true);
        tape->set_node(std::move(node));
    });
    owned_.push_back(&block);
}

bool CaptureRecorder::owns(const Block& block) const noexcept {
    return std::ranges::find(owned_, &block) != owned_.end();
}

void CaptureRecorder::offer(Block& block) {
    if (bodies != 0) return;  // uses within the body are not on this tape yet
    Freed freed{&block, tape->users_of(block), {}};
    // Native work may use memory that it does not declare, such as an algorithm's temporary arrays.
    for (std::size_t i = 0; i < participants.size(); ++i) {
        const Participant& one = participants[i];
        if (one.has_native_work) merge(freed.after, one.at.last_ops);
        if (one.held != nullptr || one.lent != nullptr)
            freed.not_collected.push_back({i, one.collections});
    }
    for (const Declared& one : declared_) {
        if (one.block != &block) continue;
        if (one.participant == everywhere) return;
        merge(freed.after, participants[one.participant].at.last_ops);
    }
    freed_.push_back(std::move(freed));
}

void CaptureRecorder::declare_use(StreamRecord& stream, Block& block) {
    declared_.push_back({&block, block.serial.load(std::memory_order_relaxed), stream.participant});
}

/// Passes blocks that were declared in a condition's body to the outer capture. No node shows these
/// uses, so the outer capture could not detect them and must not reuse the blocks.
void CaptureRecorder::tell_capture_around() {
    Recorder* const outer = participants[0].outer;
    if (declared_.empty() || outer == nullptr || !outer->is_capture()) return;
    const std::lock_guard around(outer->lock);
    if (outer->id != participants[0].outer_id) return;
    auto& theirs = static_cast<CaptureRecorder&>(*outer).declared_;
    for (const Declared& one : declared_) theirs.push_back({one.block, one.serial, everywhere});
}

Block* take_freed(StreamRecord& stream, std::size_t bytes) {
    const Recorded r(stream);
    return r && r->is_capture() ? static_cast<CaptureRecorder&>(*r).take_freed(stream, bytes)
                                : nullptr;
}

void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where) {
    const Recorded r(stream);
    if (r && r->is_capture()) static_cast<CaptureRecorder&>(*r).own(stream, block, where);
}

namespace {
/// Calls function(capture) for the open capture that owns the block. Returns whether there is one.
template <class F> bool with_owner(const Block& block, F&& function) {
    const Users users(block);
    for (const StreamUse& use : users.all()) {
        if (!is_captured(*use.stream)) continue;
        const Recorded r(*use.stream);
        if (!r || !r->is_capture()) continue;
        auto& capture = static_cast<CaptureRecorder&>(*r);
        if (!capture.owns(block)) continue;
        function(capture);
        return true;
    }
    return false;
}
}  // namespace

bool is_of_capture(const Block& block) {
    return with_owner(block, [](CaptureRecorder&) {});
}

void offer_to_capture(Block& block) noexcept {
    try {
        with_owner(block, [&](CaptureRecorder& capture) { capture.offer(block); });
    } catch (...) {
        // If memory is exhausted, the block is not reused within the graph, but still belongs to
        // the graph.
    }
}

}  // namespace heddle::detail
