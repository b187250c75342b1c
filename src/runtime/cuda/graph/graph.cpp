#include "cuda/graph/graph.hpp"

#include <utility>

#include "core/base/errors.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/pending_use.hpp"
#include "cuda/timing/cupti.hpp"
#include "cuda/timing/timing.hpp"

namespace heddle::detail::cu {

CudaGraphExec::CudaGraphExec(const GraphData& graph, const SourceLocation& where) {
    Gpu& g = gpu(graph.device.index(), where);
    if (!graph.nodes.empty()) first_ = graph.nodes.front();
    RelaxedCapture relaxed;
    InContext in(g);
    try {
        if (is_recorded_by_cupti()) native_.natives = std::make_unique<NativeNodes>();
        const NativeNodes::Building building(native_.natives.get());
        native_.build(graph, g, nullptr, where);
        if (native_.natives != nullptr) native_.natives->begin_copies();
        native_.instantiate(graph, where);
        for (const auto& node : graph.nodes)
            if (!node->enabled && !native_.nodes[node->index].is_disabled && !is_host(*node))
                native_.change(*node, where);
    } catch (...) {
        destroy();
        throw;
    }
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, StreamRecord& captured,
                             const SourceLocation& where) {
    Gpu& g = gpu(graph.device.index(), where);
    RelaxedCapture relaxed;
    InContext in(g);
    try {
        native_.build(graph, g, &captured, where);
    } catch (...) {
        destroy();
        throw;
    }
}

CudaGraphExec::~CudaGraphExec() { destroy(); }

void CudaGraphExec::destroy() noexcept {
    if (is_forked() || native_.gpu == nullptr) return;
    if (native_.done != nullptr) give_event(*native_.done_gpu, native_.done);
    if (native_.natives != nullptr || !native_.is_reusable) native_.shape = 0;
    native_.natives.reset();
    native_.hosts.clear();
    Gpu& g = *native_.gpu;
    doomed_->native = std::move(native_);
    doomed_->last = last_;
    destroy_when_done(g, std::move(doomed_));
}

/// Replaces the executable, for changes that CUDA cannot make in place. Launches that were already
/// enqueued run the old executable. If it throws, nothing has changed.
void CudaGraphExec::make_anew(const GraphData& graph, const SourceLocation& where) {
    CudaGraphExec other(graph, where);
    std::swap(native_, other.native_);
    other.last_ = last_;
    is_new_ = true;
}

/// Instantiates the graph again while CUPTI records, because records can be matched only to nodes
/// made while CUPTI records. If that fails, records are attributed to the whole graph.
void CudaGraphExec::learn_natives(const SourceLocation& where) noexcept try {
    const std::shared_ptr<NodeData> first = first_.lock();
    if (first != nullptr && first->graph != nullptr) make_anew(*first->graph, where);
    if (native_.natives == nullptr)
        native_.natives = std::make_unique<NativeNodes>();  // prevents another attempt
} catch (...) {
    // The old executable remains in use.
}

/// Orders the next launch after the newest one. CUDA orders launches of one executable, but not a
/// launch of its replacement after them.
void CudaGraphExec::order_after_last(StreamRecord& stream, const SourceLocation& where) {
    if (last_.stream == nullptr || (last_.stream == &stream && last_.is_same())) return;
    refuse_native_capture(last_, "launch", where);
    RelaxedCapture relaxed;
    (void)wait_natively(gpu_of(stream), native_of(stream), last_);
}

/// Acquires an event for native_.done that streams of this GPU can record. The old event belongs to
/// another GPU. It is no longer needed, because launches of one executable are ordered.
void CudaGraphExec::take_done_event(Gpu& g, const SourceLocation& where) {
    const cudaEvent_t fresh = take_event(g, where);
    if (native_.done != nullptr) give_event(*native_.done_gpu, native_.done);
    native_.done = fresh;
    native_.done_gpu = &g;
}

/// Call after cuGraphLaunch() has failed. The driver may have enqueued a part of the graph, whose
/// host functions may still run (seen with driver 580, error 999). So the executable is destroyed
/// only once the stream has completed, and no other graph may reuse it.
void CudaGraphExec::note_failed_launch(StreamRecord& stream) noexcept {
    native_.pop_turns(native_.hosts.size());
    last_ = {&stream, stream.id.load(std::memory_order_relaxed)};
    native_.is_reusable = false;
}

void CudaGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    launch(stream, {}, where);
}

void CudaGraphExec::launch(StreamRecord& stream,
                           std::span<const std::shared_ptr<WorkOutcome>> outcomes,
                           const SourceLocation& where) {
    // CUDA orders launches of one executable, unless all its nodes are empty or disabled.
    const bool is_ordered = !is_new_ && native_.active != 0;
    // cuGraphLaunch() itself adds all other graphs to a capture correctly.
    if ((native_.is_careful || !is_ordered) && capture_of(stream) != 0) [[unlikely]]
        return launch_into_capture(stream, where);
    if (is_recorded_by_cupti() && native_.natives == nullptr && capture_of(stream) == 0)
        [[unlikely]]
        learn_natives(where);
    if (!is_ordered) [[unlikely]] {
        order_after_last(stream, where);
        is_new_ = false;
    }
    Gpu& on_gpu = gpu_of(stream);
    if (native_.has_events && (native_.done == nullptr || native_.done_gpu != &on_gpu)) [[unlikely]]
        take_done_event(on_gpu, where);
    if (!native_.replaced.empty() && (native_.done == nullptr || is_reached(on_gpu, native_.done)))
        [[unlikely]]
        native_.replaced.clear();
    // From here on, only the launch may fail: after any other failure, the next launch would use
    // this launch's turns.
    Submission submission(stream, where);
    OnStream on(on_gpu, stream.native);
    const TimedOp timed(stream, native_.hosts.empty() ? RunBy::device : RunBy::host_too);
    const cudaStream_t native = native_of(stream);
    if (!native_.hosts.empty()) {
        native_.push_turns(stream, outcomes);
        stream.set(stream_flag::fallible);
    }
    if (native_.bounds != nullptr) [[unlikely]]
        native_.bounds->note_launch(stream, outcomes);
    const CUresult code = api.cuGraphLaunch(native_.exec.get(), native);
    if (code != CUDA_SUCCESS) [[unlikely]] {
        note_failed_launch(stream);
        submission.count();
    }
    check(code, "cuGraphLaunch", stream, where);
    last_ = {&stream, stream.id.load(std::memory_order_relaxed)};
    submission.count();
    // Must not throw, because the graph has been launched.
    if (native_.has_events) [[unlikely]]
        note_failure(record_on(on_gpu, native_.done, native), "cuEventRecord", on_gpu.index);
}

/// Adds the graph to a capture begun outside heddle. Launches of the captured graph add no turns to
/// host functions, so a graph with host functions is added as separate nodes.
void CudaGraphExec::launch_into_capture(StreamRecord& stream, const SourceLocation& where) {
    const std::shared_ptr<NodeData> first = first_.lock();
    if (native_.has_staged_nodes()) throw_capture_of_host_memory(stream, "launch", where);
    Submission submission(stream, where);
    InContext in(gpu_of(stream));
    const cudaStream_t native = native_of(stream);
    if (native_.hosts.empty()) {
        check(api.cuGraphLaunch(native_.exec.get(), native), "cuGraphLaunch", stream, where);
        return submission.count();
    }
    if (first == nullptr || first->graph == nullptr)
        usage_error({"launch", where, stream},
                    "a batch with host functions cannot be part of a capture that was begun "
                    "outside heddle: capture with heddle, or end the batch first");
    const CudaGraphExec nodes(*first->graph, stream, where);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    const CUgraphNode* after = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    check(api.cuStreamGetCaptureInfo(native, &status, nullptr, &graph, &after, &edges, &count),
          "cuStreamGetCaptureInfo", stream, where);
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) throw_invalid_capture(stream, "launch", where);
    cudaGraphNode_t made = nullptr;
    check(add_node(made, graph, {after, count},
                   NodeParameters::child_graph(nodes.native_.graph.get())),
          "cudaGraphAddNode (child graph)", stream, where);
    check(api.cudaStreamUpdateCaptureDependencies(native, &made, nullptr, 1,
                                                  cudaStreamSetCaptureDependencies),
          "cudaStreamUpdateCaptureDependencies", stream, where);
    stream.set(stream_flag::fallible);
    submission.count();
}

void CudaGraphExec::upload(StreamRecord& stream, const SourceLocation& where) {
    InContext in(gpu_of(stream));
    check(api.cudaGraphUpload(native_.exec.get(), native_of(stream)), "cudaGraphUpload", stream,
          where);
}

std::shared_ptr<GraphExec> CudaBackend::instantiate(const GraphData& graph,
                                                    const SourceLocation& where) {
    return std::make_shared<CudaGraphExec>(graph, where);
}

}  // namespace heddle::detail::cu
