#include "core/recording/capture_recorder.hpp"
#include "core/base/errors.hpp"

#include <algorithm>

#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "core/graph/graph.hpp"

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

}  // namespace heddle::detail
