#include "cuda/graph/graph.hpp"

#include <algorithm>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/device/user_object.hpp"
#include "cuda/graph/destroy.hpp"
#include "cuda/graph/node_parameters.hpp"
#include "cuda/graph/spares.hpp"
#include "cuda/host_sync/fence.hpp"
#include "cuda/host_sync/host_function.hpp"
#include "cuda/host_sync/signal.hpp"
#include "cuda/memory/kept_graphs.hpp"
#include "cuda/observe/cupti.hpp"
#include "cuda/observe/timing.hpp"

namespace heddle::detail::cu {

CudaGraphExec::Turn CudaGraphExec::turn_of(const NodeData& node) {
    Turn turn{.closure = node.work.closure,
              .type = node.work.type->op,
              .count = node.work.count,
              .where = node.where,
              .enabled = node.enabled};
    if (!node.name.empty()) turn.name = std::make_shared<const std::string>(node.name);
    return turn;
}

bool is_host(const NodeData& node) noexcept {
    return node.kind == NodeKind::host_function ||
           (node.kind == NodeKind::kernel && node.device.is_cpu());
}

namespace {
/// Reports that a native graph of heddle's runs without a launch through heddle.
void report_stray() noexcept {
    report_error(ErrorCode::usage, {"launch", {}},
                 "a host function of a graph runs without a launch of heddle's, and is left out");
}
}  // namespace

void CudaGraphExec::Host::run(void* data) {
    auto& host = *static_cast<Host*>(data);
    InCallback in;
    Turn turn{};
    {
        const std::lock_guard lock(host.mutex);
        if (!host.turns.empty()) {
            turn = std::move(host.turns.front());
            host.turns.pop_front();
        }
    }
    if (turn.stream == nullptr) return report_stray();
    if (!turn.enabled) return;
    run_in_graph({*turn.stream, turn.at, turn.fate.get()}, *turn.type, turn.closure.get(),
                 turn.count, turn.where, turn.name.get());
}

void CudaGraphExec::Host::run_always(void* data) {
    const Turn& turn = static_cast<Host*>(data)->turns.front();  // never changes
    InCallback in;
    run_in_graph({*turn.stream, turn.at, turn.fate.get()}, *turn.type, turn.closure.get(),
                 turn.count, turn.where, turn.name.get());
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), gpus_(graph.gpus | gpu_bit(graph.device)),
      staged_(graph.nodes.size()), disabled_(graph.nodes.size()), functions_(graph.nodes.size()),
      symbols_(graph.nodes.size()), events_(graph.nodes.size()) {
    if (!graph.nodes.empty()) first_ = graph.nodes.front();
    RelaxedCapture relaxed;
    InContext in(gpu_);
    try {
        if (is_recorded_by_cupti()) natives_ = std::make_unique<NativeNodes>();
        const NativeNodes::Building building(natives_.get());
        add_all(graph, where);
        if (natives_ != nullptr) natives_->begin_copies();
        instantiate(graph, where);
        for (const auto& node : graph.nodes)
            if (!node->enabled && !disabled_[node->index] && !is_host(*node)) change(*node, where);
    } catch (...) {
        destroy();
        throw;
    }
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, StreamRecord& captured,
                             const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), gpus_(graph.gpus | gpu_bit(graph.device)),
      staged_(graph.nodes.size()), disabled_(graph.nodes.size()), captured_(&captured) {
    RelaxedCapture relaxed;
    InContext in(gpu_);
    try {
        add_all(graph, where);
    } catch (...) {
        destroy();
        throw;
    }
}

void CudaGraphExec::add_all(const GraphData& graph, const SourceLocation& where) {
    check(api.cudaGraphCreate(&graph_, 0), "cudaGraphCreate", gpu_.index, where);
    nodes_.reserve(graph.nodes.size());
    for (const auto& node : graph.nodes) add(graph, *node, where);
    find_components(graph);
    for (const cudaGraphNode_t node : nodes_)
        if (native_type(node, where) != cudaGraphNodeTypeEmpty) ++active_;
    is_careful_ = has_conditions_ || has_host_functions();
}

CudaGraphExec::~CudaGraphExec() { destroy(); }

bool CudaGraphExec::has_host_functions() const noexcept {
    return !hosts_.empty() || std::ranges::find(staged_, true) != staged_.end();
}

void CudaGraphExec::destroy() noexcept {
    if (is_forked()) return;
    if (done_ != nullptr) give_event(*done_gpu_, done_);
    doomed_->gpu = &gpu_;
    doomed_->graph = graph_;
    doomed_->exec = exec_;
    doomed_->nodes = std::move(nodes_);
    doomed_->shape = natives_ == nullptr && is_reusable_ ? shape_ : 0;
    doomed_->gpus = gpus_;
    doomed_->host_graph = std::move(host_graph_);
    doomed_->has_conditions = has_conditions_;
    doomed_->events = std::move(events_);
    doomed_->replaced_events = std::move(replaced_);
    doomed_->last = last_;
    destroy_when_done(gpu_, std::move(doomed_));
}

void CudaGraphExec::add_host(const NodeData& node, const std::vector<cudaGraphNode_t>& after,
                             const SourceLocation& where) {
    auto host = std::make_unique<Host>();
    if (captured_ != nullptr) {
        host->turns.push_back(turn_of(node));
        host->turns.back().stream = captured_;
        host->turns.back().at = captured_->submissions.load(std::memory_order_acquire) + 1;
    }
    Host* const place = &give_to_graph(graph_, std::move(host), gpu_.index, where);
    const cudaHostNodeParams p{captured_ != nullptr ? &Host::run_always : &Host::run, place};
    check(api.cudaGraphAddHostNode(&nodes_.back(), graph_, after.data(), after.size(), &p),
          "cudaGraphAddHostNode", gpu_.index, where);
    hosts_.push_back({node.index, place, turn_of(node)});
}

void CudaGraphExec::add(const GraphData& graph, const NodeData& node, const SourceLocation& where) {
    const Before before(graph, node, nodes_);
    const std::vector<cudaGraphNode_t>& after = before.nodes;
    if (natives_ != nullptr) natives_->begin_node(static_cast<std::uint32_t>(node.index));
    cudaGraphNode_t& made = nodes_.emplace_back();
    staged_[node.index] = is_staged(node);
    if (!node.enabled && (staged_[node.index] || captured_ != nullptr)) {
        disabled_[node.index] = true;
        made = add_empty_node(graph_, after, gpu_, where);
        return;
    }
    const auto done = [&](cudaError_t code, const char* call) {
        check(code, call, gpu_.index, where);
    };
    if (node.event != nullptr) {
        events_[node.index] = node.event;
        has_events_ = true;
    }
    // A host node runs on one thread, because the driver keeps the graph's order.
    if (is_host(node)) return add_host(node, after, where);
    switch (node.kind) {
    case NodeKind::other:
        return done(api.cudaGraphAddChildGraphNode(&made, graph_, after.data(), after.size(),
                                                   static_cast<cudaGraph_t>(node.foreign.get())),
                    "cudaGraphAddChildGraphNode");
    case NodeKind::conditional:
        has_conditions_ = true;
        made = add_conditional(graph_, graph_, node, after, where);
        return;
    case NodeKind::record_event:
        if (node.device.is_cpu()) break;
        return done(api.cudaGraphAddEventRecordNode(&made, graph_, after.data(), after.size(),
                                                    native_for_graph(*node.event, where)),
                    "cudaGraphAddEventRecordNode");
    case NodeKind::wait_event:
        if (node.device.is_cpu()) break;
        return done(api.cudaGraphAddEventWaitNode(&made, graph_, after.data(), after.size(),
                                                  native_for_graph(*node.event, where)),
                    "cudaGraphAddEventWaitNode");
    default: break;
    }
    if (node.device.is_cpu() && node.event != nullptr)
        unsupported_error({"instantiate", where},
                          "{} is about an event of {}, and the graph is of a CUDA device: wait for "
                          "it on the stream instead",
                          label_of(node), node.device);
    made = add_device_node(graph_, graph_, node, before, gpu_, where);
    // CUDA cannot disable an empty node.
    if (node.has_no_work()) disabled_[node.index] = true;
}

/// Reuses a kept executable of the same shape, if there is one. It then keeps the objects owned by
/// host nodes of the new graph. Its nodes remain those of the graph that it was instantiated from:
/// later changes are made through them.
bool CudaGraphExec::take_over(const SourceLocation& where) {
    std::unique_ptr<Doomed> spare = take_spare(shape_);
    if (spare == nullptr) return false;
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t code = api.cudaGraphExecUpdate(spare->exec, graph_, &info);
    if (code != cudaSuccess) {
        spare->shape = 0;
        keep_spare(std::move(spare));
        if (is_sticky(code)) check(code, "cudaGraphExecUpdate", gpu_.index, where);
        cudaGetLastError();
        return false;
    }
    exec_ = std::exchange(spare->exec, nullptr);
    std::swap(graph_, spare->graph);
    nodes_ = std::move(spare->nodes);
    host_graph_ = std::move(spare->host_graph);
    destroy_now(std::move(spare));  // destroys the new graph only
    return true;
}

void CudaGraphExec::instantiate(const GraphData& graph, const SourceLocation& where) {
    if (has_conditions_ && natives_ == nullptr) {
        shape_ = shape_of(graph);
        if (take_over(where)) return;
    }
    if (has_host_functions()) host_graph_ = HostGraph(graph, where);
    const unsigned long long flags =
        has_priorities(graph) ? cudaGraphInstantiateFlagUseNodePriority : 0;
    cudaError_t code = api.cudaGraphInstantiate(&exec_, graph_, flags);
    if (code == cudaErrorMemoryAllocation && destroy_kept_graphs(gpu_.index)) {
        cudaGetLastError();
        code = api.cudaGraphInstantiate(&exec_, graph_, flags);
    }
    check(code, "cudaGraphInstantiate", gpu_.index, where);
}

/// Replaces the executable, for changes that CUDA cannot make in place. Launches already enqueued
/// keep the old contents. Has no effect if it throws.
void CudaGraphExec::make_anew(const GraphData& graph, const SourceLocation& where) {
    CudaGraphExec other(graph, where);
    std::swap(graph_, other.graph_);
    std::swap(exec_, other.exec_);
    std::swap(shape_, other.shape_);
    std::swap(is_reusable_, other.is_reusable_);
    std::swap(host_graph_, other.host_graph_);
    std::swap(nodes_, other.nodes_);
    std::swap(hosts_, other.hosts_);
    std::swap(components_, other.components_);
    std::swap(component_count_, other.component_count_);
    std::swap(active_, other.active_);
    std::swap(done_, other.done_);
    std::swap(done_gpu_, other.done_gpu_);
    std::swap(has_conditions_, other.has_conditions_);
    std::swap(has_events_, other.has_events_);
    std::swap(events_, other.events_);
    std::swap(replaced_, other.replaced_);
    std::swap(is_careful_, other.is_careful_);
    std::swap(staged_, other.staged_);
    std::swap(disabled_, other.disabled_);
    std::swap(functions_, other.functions_);
    std::swap(symbols_, other.symbols_);
    std::swap(natives_, other.natives_);
    other.last_ = last_;
    is_new_ = true;
}

/// Instantiates the graph again, now that CUPTI records, because that is the only way to match
/// records to nodes. If it fails, records are attributed to the whole graph.
void CudaGraphExec::learn_natives(const SourceLocation& where) noexcept try {
    const std::shared_ptr<NodeData> first = first_.lock();
    if (first != nullptr && first->graph != nullptr) make_anew(*first->graph, where);
    if (natives_ == nullptr) natives_ = std::make_unique<NativeNodes>();  // does not try again
} catch (...) {
    // The old executable remains in use.
}

/// Orders the next launch after the newest one. CUDA orders the launches of one executable, but not
/// those of an executable and its replacement.
void CudaGraphExec::order_after_last(StreamRecord& stream, const SourceLocation& where) {
    if (last_.stream == nullptr || (last_.stream == &stream && last_.is_same())) return;
    refuse_native_capture(last_, "launch", where);
    RelaxedCapture relaxed;
    (void)wait_natively(gpu_of(stream), native_of(stream), last_);
}

/// Acquires an event for done_ that streams of this GPU can record. The old one, of another GPU, is
/// no longer needed, because launches of one executable are ordered.
void CudaGraphExec::take_done_event(Gpu& g, const SourceLocation& where) {
    const cudaEvent_t fresh = take_event(g, where);
    if (done_ != nullptr) give_event(*done_gpu_, done_);
    done_ = fresh;
    done_gpu_ = &g;
}

void CudaGraphExec::push_turns(StreamRecord& stream, std::span<const std::shared_ptr<Fate>> fates) {
    const std::uint64_t at = stream.submissions.load(std::memory_order_acquire) + 1;
    std::size_t pushed = 0;
    try {
        for (HostNode& host : hosts_) {
            host.next.stream = &stream;
            host.next.at = at;
            host.next.fate = fates.empty() ? nullptr : fates[components_[host.node]];
            const std::lock_guard lock(host.host->mutex);
            host.host->turns.push_back(host.next);
            ++pushed;
        }
    } catch (...) {
        pop_turns(pushed);
        throw;
    }
}

/// Removes the newest launch's turn of the first `count` host nodes, where it has not been used.
void CudaGraphExec::pop_turns(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const HostNode& node = hosts_[i];
        const std::lock_guard lock(node.host->mutex);
        std::deque<Turn>& turns = node.host->turns;
        if (!turns.empty() && turns.back().at == node.next.at &&
            turns.back().stream == node.next.stream)
            turns.pop_back();
    }
}

/// Call it after cuGraphLaunch() failed. The driver may have enqueued part of the graph (seen with
/// driver 580, error 999): host functions of that part may run or have run. So the executable is
/// destroyed once the stream has completed, and no other graph may reuse it.
void CudaGraphExec::note_failed_launch(StreamRecord& stream) noexcept {
    pop_turns(hosts_.size());
    last_ = {&stream, stream.id.load(std::memory_order_relaxed)};
    is_reusable_ = false;
}

void CudaGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    launch(stream, {}, where);
}

void CudaGraphExec::launch(StreamRecord& stream, std::span<const std::shared_ptr<Fate>> fates,
                           const SourceLocation& where) {
    // CUDA orders launches of one executable, unless all its nodes are empty or disabled.
    const bool is_ordered = !is_new_ && active_ != 0;
    // CUDA adds all other graphs to a capture correctly.
    if ((is_careful_ || !is_ordered) && capture_of(stream) != 0) [[unlikely]]
        return launch_into_capture(stream, where);
    if (is_recorded_by_cupti() && natives_ == nullptr && capture_of(stream) == 0) [[unlikely]]
        learn_natives(where);
    if (!is_ordered) [[unlikely]] {
        order_after_last(stream, where);
        is_new_ = false;
    }
    Gpu& on_gpu = gpu_of(stream);
    if (has_events_ && (done_ == nullptr || done_gpu_ != &on_gpu)) [[unlikely]]
        take_done_event(on_gpu, where);
    if (!replaced_.empty() && (done_ == nullptr || is_reached(on_gpu, done_))) [[unlikely]]
        replaced_.clear();
    // From here on only the launch may fail: the next launch would use a turn left without a
    // launch.
    Submission submission(stream, where);
    OnStream on(on_gpu, stream.native);
    const TimedOp timed(stream, hosts_.empty() ? RunBy::device : RunBy::host_too);
    const cudaStream_t native = native_of(stream);
    if (!hosts_.empty()) {
        push_turns(stream, fates);
        stream.set(stream_flag::fallible);
    }
    const CUresult code = api.cuGraphLaunch(exec_, native);
    if (code != CUDA_SUCCESS) [[unlikely]] {
        note_failed_launch(stream);
        submission.count();
    }
    check(code, "cuGraphLaunch", stream, where);
    last_ = {&stream, stream.id.load(std::memory_order_relaxed)};
    submission.count();
    // Must not throw, because the graph has been launched.
    if (has_events_) [[unlikely]]
        note_failure(record_on(on_gpu, done_, native), "cuEventRecord", on_gpu.index);
}

/// Adds the graph to a capture begun outside heddle. The result may be launched any number of
/// times, and those launches add no turns. So a graph with host functions has nodes of its own
/// there.
void CudaGraphExec::launch_into_capture(StreamRecord& stream, const SourceLocation& where) {
    const std::shared_ptr<NodeData> first = first_.lock();
    if (std::ranges::find(staged_, true) != staged_.end())
        throw_capture_of_host_memory(stream, "launch", where);
    Submission submission(stream, where);
    InContext in(gpu_of(stream));
    const cudaStream_t native = native_of(stream);
    if (hosts_.empty()) {
        check(api.cuGraphLaunch(exec_, native), "cuGraphLaunch", stream, where);
        return submission.count();
    }
    if (first == nullptr || first->graph == nullptr)
        usage_error(
            {"launch", where, stream},
            "a batch with host functions cannot become part of a capture that was begun past "
            "heddle: capture with heddle, or end the batch before");
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
    check(api.cudaGraphAddChildGraphNode(&made, graph, after, count, nodes.graph_),
          "cudaGraphAddChildGraphNode", stream, where);
    check(api.cudaStreamUpdateCaptureDependencies(native, &made, nullptr, 1,
                                                  cudaStreamSetCaptureDependencies),
          "cudaStreamUpdateCaptureDependencies", stream, where);
    stream.set(stream_flag::fallible);
    submission.count();
}

void CudaGraphExec::upload(StreamRecord& stream, const SourceLocation& where) {
    InContext in(gpu_of(stream));
    check(api.cudaGraphUpload(exec_, native_of(stream)), "cudaGraphUpload", stream, where);
}

std::shared_ptr<GraphExec> CudaBackend::instantiate(const GraphData& graph,
                                                    const SourceLocation& where) {
    return std::make_shared<CudaGraphExec>(graph, where);
}

}  // namespace heddle::detail::cu
