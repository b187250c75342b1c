#include "cuda/graph.hpp"

#include <algorithm>
#include <utility>

#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/fence.hpp"
#include "cuda/graph_parameters.hpp"
#include "cuda/host_function.hpp"
#include "cuda/user_object.hpp"

namespace heddle::detail::cu {

CudaGraphExec::Turn CudaGraphExec::turn_of(const NodeData& node) {
    Turn turn{node.work.closure, node.work.type->op, node.work.count, node.where, nullptr};
    if (!node.name.empty()) turn.name = std::make_shared<const std::string>(node.name);
    return turn;
}

namespace {
/// Somebody launches a native graph of heddle's past heddle.
void report_stray() noexcept {
    try {
        throw_usage("a host function of a graph runs without a launch of heddle's, and is left out", "launch",
                    nullptr, {});
    } catch (...) {
        report(std::current_exception());
    }
}
}  // namespace

void CudaGraphExec::Host::run(void* data) {
    auto& host = *static_cast<Host*>(data);
    InCallback in;
    Turn turn;
    {
        const std::lock_guard lock(host.mutex);
        if (!host.turns.empty()) {
            turn = std::move(host.turns.front());
            host.turns.pop_front();
        }
    }
    if (turn.stream == nullptr) return report_stray();
    run_in_graph(*turn.stream, turn.at, *turn.type, turn.closure.get(), turn.count, turn.where,
                 turn.name.get());
}

void CudaGraphExec::Host::run_always(void* data) {
    const Turn& turn = static_cast<Host*>(data)->turns.front();  // changed by nobody
    InCallback in;
    run_in_graph(*turn.stream, turn.at, *turn.type, turn.closure.get(), turn.count, turn.where,
                 turn.name.get());
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), staged_(graph.nodes.size()), disabled_(graph.nodes.size()),
      functions_(graph.nodes.size()), symbols_(graph.nodes.size()), events_(graph.nodes.size()) {
    if (!graph.nodes.empty()) first_ = graph.nodes.front();
    RelaxedCapture relaxed;
    InContext in(gpu_);
    try {
        add_all(graph, where);
        instantiate(has_priorities(graph), where);
        for (const auto& node : graph.nodes)
            if (!node->enabled && !disabled_[node->index]) change(*node, where);
    } catch (...) {
        destroy();
        throw;
    }
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, StreamRecord& captured, const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), staged_(graph.nodes.size()), disabled_(graph.nodes.size()),
      captured_(&captured) {
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
    is_careful_ = has_conditions_ || !hosts_.empty() || std::ranges::find(staged_, true) != staged_.end();
}

namespace {

void destroy_now(Gpu& g, cudaGraph_t graph, cudaGraphExec_t exec) noexcept {
    RelaxedCapture relaxed;
    InContext in(g);
    if (exec != nullptr) note_failure(api.cudaGraphExecDestroy(exec), "cudaGraphExecDestroy", g.index);
    if (graph != nullptr) note_failure(api.cudaGraphDestroy(graph), "cudaGraphDestroy", g.index);
}

/// Destroying an executable with conditions waits on the host for its launches (3000 ms behind a kernel of 3 s, driver 580; others do not): so
/// it is put off until they are done. Until then its events are not other ones.
void destroy_when_done(Gpu& g, cudaGraph_t graph, cudaGraphExec_t exec, cudaEvent_t done,
                       std::vector<EventOwner> events) {
    if (!in_callback) {
        RelaxedCapture relaxed;
        if (done == nullptr || is_reached(g, done)) {
            destroy_now(g, graph, exec);
            if (done != nullptr) give_event(g, done);
            return;
        }
    }
    defer(g, [&g, graph, exec, done, events = std::move(events)] {
        destroy_when_done(g, graph, exec, done, events);
    });
}

}  // namespace

CudaGraphExec::~CudaGraphExec() {
    if (is_forked()) return;
    try {
        events_.insert(events_.end(), replaced_.begin(), replaced_.end());
        destroy_when_done(gpu_, graph_, exec_, done_, std::move(events_));
    } catch (...) {
        report(std::current_exception());
    }
}

void CudaGraphExec::destroy() noexcept {
    destroy_now(gpu_, graph_, exec_);
    exec_ = nullptr;
    graph_ = nullptr;
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
    cudaGraphNode_t& made = nodes_.emplace_back();
    staged_[node.index] = is_staged(node);
    if (!node.enabled && (staged_[node.index] || captured_ != nullptr)) {
        disabled_[node.index] = true;
        made = add_empty_node(graph_, after, gpu_, where);
        return;
    }
    const auto done = [&](cudaError_t code, const char* call) { check(code, call, gpu_.index, where); };
    if (node.event != nullptr) {
        events_[node.index] = node.event;
        has_events_ = true;
    }
    switch (node.kind) {
    case NodeKind::kernel:
        if (node.device.is_cpu())  // on one thread: the graph's order is the driver's to keep
            return add_host(node, after, where);
        break;
    case NodeKind::host_function: return add_host(node, after, where);
    case NodeKind::other:
        return done(api.cudaGraphAddChildGraphNode(&made, graph_, after.data(), after.size(),
                                                   static_cast<cudaGraph_t>(node.foreign.get())),
                    "cudaGraphAddChildGraphNode");
    case NodeKind::conditional:
        has_conditions_ = true;
        made = add_conditional(graph_, graph_, node, after, gpu_, where);
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
        throw_error({.code = ErrorCode::unsupported,
                     .message = label_of(node) + " is about an event of " + node.device.name() +
                                ", and the graph is of a CUDA device: wait for it on the stream instead",
                     .call = "instantiate",
                     .where = where});
    made = add_device_node(graph_, graph_, node, before, gpu_, where);
}

void CudaGraphExec::instantiate(bool with_priorities, const SourceLocation& where) {
    const unsigned long long flags = with_priorities ? cudaGraphInstantiateFlagUseNodePriority : 0;
    check(api.cudaGraphInstantiate(&exec_, graph_, flags), "cudaGraphInstantiate", gpu_.index, where);
}

/// For what CUDA cannot change in place. What was launched keeps what it was launched with. If it fails, nothing has changed.
void CudaGraphExec::make_anew(const GraphData& graph, const SourceLocation& where) {
    CudaGraphExec other(graph, where);
    std::swap(graph_, other.graph_);
    std::swap(exec_, other.exec_);
    std::swap(nodes_, other.nodes_);
    std::swap(hosts_, other.hosts_);
    std::swap(done_, other.done_);
    std::swap(has_conditions_, other.has_conditions_);
    std::swap(has_events_, other.has_events_);
    std::swap(events_, other.events_);
    std::swap(replaced_, other.replaced_);
    std::swap(is_careful_, other.is_careful_);
    std::swap(staged_, other.staged_);
    std::swap(disabled_, other.disabled_);
    std::swap(functions_, other.functions_);
    std::swap(symbols_, other.symbols_);
    is_new_ = true;
}

/// CUDA knows the order of an executable's launches, but not that another one took its place.
void CudaGraphExec::order_after_last(StreamRecord& stream, const SourceLocation& where) {
    if (last_.stream == nullptr || (last_.stream == &stream && last_.is_same())) return;
    refuse_native_capture(last_, "launch", where);
    RelaxedCapture relaxed;
    (void)wait_natively(gpu_, native_of(stream), last_);
}

void CudaGraphExec::push_turns(StreamRecord& stream) {
    const std::uint64_t at = stream.submissions.load(std::memory_order_acquire) + 1;
    std::size_t pushed = 0;
    try {
        for (HostNode& host : hosts_) {
            host.next.stream = &stream;
            host.next.at = at;
            const std::lock_guard lock(host.host->mutex);
            host.host->turns.push_back(host.next);
            ++pushed;
        }
    } catch (...) {
        pop_turns(pushed);
        throw;
    }
}

/// Takes back the newest turn of the first `count` host nodes.
void CudaGraphExec::pop_turns(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const std::lock_guard lock(hosts_[i].host->mutex);
        hosts_[i].host->turns.pop_back();
    }
}

void CudaGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    // For all others CUDA does the right thing.
    if ((is_careful_ || is_new_) && capture_of(stream) != 0) [[unlikely]]
        return launch_into_capture(stream, where);
    if (is_new_) [[unlikely]] {
        order_after_last(stream, where);
        is_new_ = false;
    }
    if ((has_conditions_ || has_events_) && done_ == nullptr) [[unlikely]]
        done_ = take_event(gpu_, where);
    if (!replaced_.empty() && (done_ == nullptr || is_reached(gpu_, done_))) [[unlikely]]
        replaced_.clear();
    // From here on nothing may fail but the launch: a turn without a launch would be another launch's.
    OnStream on(gpu_, stream.native);
    const cudaStream_t native = native_of(stream);
    if (!hosts_.empty()) {
        push_turns(stream);
        stream.set(stream_flag::fallible);
    }
    const CUresult code = api.cuGraphLaunch(exec_, native);
    if (code != CUDA_SUCCESS) [[unlikely]]
        pop_turns(hosts_.size());
    check(code, "cuGraphLaunch", stream, where);
    last_ = {&stream, stream.id.load(std::memory_order_relaxed)};
    count_submission(stream);
    if (has_conditions_ || has_events_) [[unlikely]]
        check(record_on(gpu_, done_, native), "cuEventRecord", stream, where);
}

/// A capture that others began. What they make of it they launch as often as they like, and no turns are put in then: so their graph gets
/// nodes of its own, if it has host functions.
void CudaGraphExec::launch_into_capture(StreamRecord& stream, const SourceLocation& where) {
    const std::shared_ptr<NodeData> first = first_.lock();
    if (std::ranges::find(staged_, true) != staged_.end())
        throw_usage(
            "the stream is capturing, and only device and pinned memory can be copied and filled in a "
            "graph of others: use heddle::pinned() for the host side",
            "launch", &stream, where);
    InContext in(gpu_);
    const cudaStream_t native = native_of(stream);
    if (hosts_.empty()) {
        check(api.cuGraphLaunch(exec_, native), "cuGraphLaunch", stream, where);
        return count_submission(stream);
    }
    if (first == nullptr || first->graph == nullptr)
        throw_usage("a batch with host functions cannot become part of a capture of others", "launch",
                    &stream, where);
    const CudaGraphExec nodes(*first->graph, stream, where);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    const CUgraphNode* after = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    check(api.cuStreamGetCaptureInfo(native, &status, nullptr, &graph, &after, &edges, &count),
          "cuStreamGetCaptureInfo", stream, where);
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        throw_usage("the stream's capture is invalid: end it, and begin again", "launch", &stream, where);
    cudaGraphNode_t made = nullptr;
    check(api.cudaGraphAddChildGraphNode(&made, graph, after, count, nodes.graph_),
          "cudaGraphAddChildGraphNode", stream, where);
    check(
        api.cudaStreamUpdateCaptureDependencies(native, &made, nullptr, 1, cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies", stream, where);
    stream.set(stream_flag::fallible);
    count_submission(stream);
}

void CudaGraphExec::upload(StreamRecord& stream, const SourceLocation& where) {
    InContext in(gpu_);
    check(api.cudaGraphUpload(exec_, native_of(stream)), "cudaGraphUpload", stream, where);
}

void CudaGraphExec::check_update(cudaError_t code, const char* call, const NodeData& node,
                                 const SourceLocation& where) {
    if (code == cudaSuccess) return;
    if (is_sticky(code)) check(code, call, gpu_.index, where);
    cudaGetLastError();
    throw_error({.code = ErrorCode::unsupported,
                 .message = label_of(node) +
                            " cannot be changed like this in a graph that is instantiated: " +
                            cudaGetErrorString(code) + ". Build another graph",
                 .call = call,
                 .native_code = code,
                 .native_name = cudaGetErrorName(code),
                 .device = node.device,
                 .where = where});
}

/// By the driver, which takes 0.2 us for what takes the runtime 0.35. It crashes on a thread without a context (seen with driver 580).
void CudaGraphExec::update_kernel(const NodeData& node, const SourceLocation& where) {
    Gpu& g = gpu(node.device.index(), where);
    form_.is_loaded = false;
    node.work.type->form(node.work.closure.get(), static_cast<unsigned>(g.limits.processors),
                         node.work.options, form_, where);
    InContext in(g);
    CUDA_KERNEL_NODE_PARAMS p = kernel_parameters(form_);
    if (!form_.is_loaded) {
        if (symbols_[node.index] != form_.function) {
            cudaFunction_t function = nullptr;
            check_update(api.cudaGetFuncBySymbol(&function, form_.function), "cudaGetFuncBySymbol", node,
                         where);
            functions_[node.index] = function;
            symbols_[node.index] = form_.function;
        }
        p.func = functions_[node.index];
    }
    check_update(as_runtime(api.cuGraphExecKernelNodeSetParams(exec_, nodes_[node.index], &p)),
                 "cuGraphExecKernelNodeSetParams", node, where);
}

void CudaGraphExec::keep_event(const NodeData& node) {
    if (events_[node.index] == node.event) return;
    replaced_.push_back(std::exchange(events_[node.index], node.event));
}

void CudaGraphExec::update_other(const NodeData& node, const SourceLocation& where) {
    cudaGraphNode_t native = nodes_[node.index];
    switch (node.kind) {
    case NodeKind::copy: {
        ensure_access(node, where);
        Gpu& g = gpu_of_memory(node, gpu_, where);
        InContext in(g);
        const CUDA_MEMCPY3D p = copy_parameters(node.to, node.from);
        return check_update(as_runtime(api.cuGraphExecMemcpyNodeSetParams(exec_, native, &p, g.context)),
                            "cuGraphExecMemcpyNodeSetParams", node, where);
    }
    case NodeKind::fill: {
        Gpu& g = gpu_of_memory(node, gpu_, where);
        InContext in(g);
        const FillParameters p(node, g);
        if (p.is_kernel)
            return check_update(api.cudaGraphExecKernelNodeSetParams(exec_, native, &p.kernel),
                                "cudaGraphExecKernelNodeSetParams (fill)", node, where);
        return check_update(api.cudaGraphExecMemsetNodeSetParams(exec_, native, &p.memset),
                            "cudaGraphExecMemsetNodeSetParams", node, where);
    }
    case NodeKind::record_event:
        check_update(
            api.cudaGraphExecEventRecordNodeSetEvent(exec_, native, native_for_graph(*node.event, where)),
            "cudaGraphExecEventRecordNodeSetEvent", node, where);
        return keep_event(node);
    case NodeKind::wait_event:
        check_update(
            api.cudaGraphExecEventWaitNodeSetEvent(exec_, native, native_for_graph(*node.event, where)),
            "cudaGraphExecEventWaitNodeSetEvent", node, where);
        return keep_event(node);
    default: return;
    }
}

bool CudaGraphExec::update(const NodeData& node, const SourceLocation& where) {
    if (node.kind == NodeKind::host_function || (node.kind == NodeKind::kernel && node.device.is_cpu())) {
        const auto host =
            std::ranges::find_if(hosts_, [&](const HostNode& h) { return h.node == node.index; });
        if (host != hosts_.end()) host->next = turn_of(node);
        return false;
    }
    bool in_place = node.conditional == nullptr && !staged_[node.index] && !is_staged(node);
    if (in_place) {
        try {
            change(node, where);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported || node.graph == nullptr) throw;
            in_place = false;
        }
    }
    if (in_place) return false;
    if (node.graph == nullptr)  // a batch's, which makes another graph
        throw_error({.code = ErrorCode::unsupported,
                     .message = label_of(node) + " cannot be changed in a graph that is instantiated",
                     .call = "update",
                     .device = node.device,
                     .where = where});
    make_anew(*node.graph, where);
    return true;
}

/// In place. Throws Unsupported where CUDA cannot.
void CudaGraphExec::change(const NodeData& node, const SourceLocation& where) {
    const bool nothing = node.kind == NodeKind::kernel && node.work.count == 0;
    const bool disabled = !node.enabled || nothing;
    if (node.kind == NodeKind::kernel && !disabled) {
        update_kernel(node, where);
        if (!disabled_[node.index]) return;
    }
    RelaxedCapture relaxed;
    InContext in(gpu(node.device.is_cuda() ? node.device.index() : gpu_.index, where));
    if (!disabled && node.kind != NodeKind::kernel) update_other(node, where);
    if (disabled == disabled_[node.index]) return;
    check_update(api.cudaGraphNodeSetEnabled(exec_, nodes_[node.index], disabled ? 0 : 1),
                 "cudaGraphNodeSetEnabled", node, where);
    disabled_[node.index] = disabled;
}

std::shared_ptr<GraphExec> CudaBackend::instantiate(const GraphData& graph, const SourceLocation& where) {
    return std::make_shared<CudaGraphExec>(graph, where);
}

}  // namespace heddle::detail::cu
