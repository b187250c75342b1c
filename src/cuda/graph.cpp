#include "cuda/graph.hpp"

#include <algorithm>
#include <utility>

#include "core/order.hpp"
#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/graph_parameters.hpp"
#include "cuda/host_function.hpp"

namespace heddle::detail::cu {

CudaGraphExec::Turn CudaGraphExec::turn_of(const NodeData& node) {
    Turn turn{node.work.closure, node.work.type->op, node.work.count, node.where, nullptr};
    if (!node.name.empty()) turn.name = std::make_shared<const std::string>(node.name);
    return turn;
}

void CudaGraphExec::Host::run(void* data) {
    auto& host = *static_cast<Host*>(data);
    InCallback in;
    Turn turn;
    {
        const std::lock_guard lock(host.mutex);
        if (host.turns.empty()) return;
        turn = std::move(host.turns.front());
        host.turns.pop_front();
    }
    run_in_graph(*turn.stream, turn.at, *turn.type, turn.closure.get(), turn.count, turn.where,
                 turn.name.get());
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), disabled_(graph.nodes.size()), functions_(graph.nodes.size()),
      symbols_(graph.nodes.size()), events_(graph.nodes.size()) {
    RelaxedCapture relaxed;
    InContext in(gpu_);
    try {
        check(cudaGraphCreate(&graph_, 0), "cudaGraphCreate", gpu_.index, where);
        nodes_.reserve(graph.nodes.size());
        for (const auto& node : graph.nodes) add(graph, *node, where);
        instantiate(has_priorities(graph), where);
        for (const auto& node : graph.nodes)
            if (!node->enabled) update(*node, where);
    } catch (...) {
        destroy();
        throw;
    }
}

namespace {

void destroy_now(Gpu& g, cudaGraph_t graph, cudaGraphExec_t exec) noexcept {
    RelaxedCapture relaxed;
    InContext in(g);
    if (exec != nullptr) note_failure(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy", g.index);
    if (graph != nullptr) note_failure(cudaGraphDestroy(graph), "cudaGraphDestroy", g.index);
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
    cudaUserObject_t object = nullptr;
    const auto drop = [](void* data) {
        InCallback in;
        delete static_cast<Host*>(data);
    };
    check(cudaUserObjectCreate(&object, host.get(), drop, 1, cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate", gpu_.index, where);
    Host* const place = host.release();
    check(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), "cudaGraphRetainUserObject",
          gpu_.index, where);
    const cudaHostNodeParams p{&Host::run, place};
    check(cudaGraphAddHostNode(&nodes_.back(), graph_, after.data(), after.size(), &p),
          "cudaGraphAddHostNode", gpu_.index, where);
    hosts_.push_back({node.index, place, turn_of(node)});
}

void CudaGraphExec::add(const GraphData& graph, const NodeData& node, const SourceLocation& where) {
    const Before before(graph, node, nodes_);
    const std::vector<cudaGraphNode_t>& after = before.nodes;
    cudaGraphNode_t& made = nodes_.emplace_back();
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
        return done(cudaGraphAddChildGraphNode(&made, graph_, after.data(), after.size(),
                                               static_cast<cudaGraph_t>(node.foreign.get())),
                    "cudaGraphAddChildGraphNode");
    case NodeKind::conditional:
        has_conditions_ = true;
        made = add_conditional(graph_, node, after, gpu_, where);
        return;
    case NodeKind::record_event:
        if (node.device.is_cpu()) break;
        return done(
            cudaGraphAddEventRecordNode(&made, graph_, after.data(), after.size(), native_of(*node.event)),
            "cudaGraphAddEventRecordNode");
    case NodeKind::wait_event:
        if (node.device.is_cpu()) break;
        return done(
            cudaGraphAddEventWaitNode(&made, graph_, after.data(), after.size(), native_of(*node.event)),
            "cudaGraphAddEventWaitNode");
    default: break;
    }
    if (node.device.is_cpu() && node.event != nullptr)
        throw_error({.code = ErrorCode::unsupported,
                     .message = label_of(node) + " is about an event of " + node.device.name() +
                                ", and the graph is of a CUDA device: wait for it on the stream instead",
                     .call = "instantiate",
                     .where = where});
    made = add_device_node(graph_, node, before, gpu_, where);
}

void CudaGraphExec::instantiate(bool with_priorities, const SourceLocation& where) {
    const unsigned long long flags = with_priorities ? cudaGraphInstantiateFlagUseNodePriority : 0;
    check(cudaGraphInstantiate(&exec_, graph_, flags), "cudaGraphInstantiate", gpu_.index, where);
}

/// For what CUDA cannot change in place. What was launched keeps what it was launched with.
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
    std::swap(disabled_, other.disabled_);
    std::swap(functions_, other.functions_);
    std::swap(symbols_, other.symbols_);
    is_new_ = true;
}

void CudaGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    if (!hosts_.empty()) {
        const std::uint64_t at = stream.submissions.load(std::memory_order_acquire) + 1;
        for (HostNode& host : hosts_) {
            host.next.stream = &stream;
            host.next.at = at;
            const std::lock_guard lock(host.host->mutex);
            host.host->turns.push_back(host.next);
        }
        stream.set(stream_flag::fallible);
    }
    if (is_new_) [[unlikely]] {
        if (last_.stream != nullptr) order_after_use(stream, last_, where);
        is_new_ = false;
    }
    last_ = {&stream, stream.id.load(std::memory_order_relaxed)};
    if (!replaced_.empty() && (done_ == nullptr || is_reached(gpu_, done_))) [[unlikely]]
        replaced_.clear();
    OnStream on(gpu_, stream.native);
    const CUresult code = driver.launch_graph(exec_, native_of(stream));
    if (code != CUDA_SUCCESS) [[unlikely]]
        for (HostNode& host : hosts_) {
            const std::lock_guard lock(host.host->mutex);
            host.host->turns.pop_back();
        }
    check(code, "cuGraphLaunch", stream, where);
    count_submission(stream);
    if ((has_conditions_ || has_events_) && capture_of(stream) == 0) [[unlikely]] {
        if (done_ == nullptr) done_ = take_event(gpu_, where);
        check(record_on(gpu_, done_, native_of(stream)), "cuEventRecord", stream, where);
    }
}

void CudaGraphExec::upload(StreamRecord& stream, const SourceLocation& where) {
    InContext in(gpu_);
    check(cudaGraphUpload(exec_, native_of(stream)), "cudaGraphUpload", stream, where);
}

void CudaGraphExec::check_update(cudaError_t code, const char* call, const NodeData& node,
                                 const SourceLocation& where) {
    if (code == cudaSuccess) return;
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
            check_update(cudaGetFuncBySymbol(&function, form_.function), "cudaGetFuncBySymbol", node, where);
            functions_[node.index] = function;
            symbols_[node.index] = form_.function;
        }
        p.func = functions_[node.index];
    }
    check_update(as_runtime(driver.set_kernel_node(exec_, nodes_[node.index], &p)),
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
        const cudaMemcpy3DParms p = copy_parameters(node, where);
        return check_update(cudaGraphExecMemcpyNodeSetParams(exec_, native, &p),
                            "cudaGraphExecMemcpyNodeSetParams", node, where);
    }
    case NodeKind::fill: {
        const FillParameters p(node, gpu_of(node, gpu_, where), where);
        if (p.is_kernel)
            return check_update(cudaGraphExecKernelNodeSetParams(exec_, native, &p.kernel),
                                "cudaGraphExecKernelNodeSetParams (fill)", node, where);
        return check_update(cudaGraphExecMemsetNodeSetParams(exec_, native, &p.memset),
                            "cudaGraphExecMemsetNodeSetParams", node, where);
    }
    case NodeKind::record_event:
        check_update(cudaGraphExecEventRecordNodeSetEvent(exec_, native, native_of(*node.event)),
                     "cudaGraphExecEventRecordNodeSetEvent", node, where);
        return keep_event(node);
    case NodeKind::wait_event:
        check_update(cudaGraphExecEventWaitNodeSetEvent(exec_, native, native_of(*node.event)),
                     "cudaGraphExecEventWaitNodeSetEvent", node, where);
        return keep_event(node);
    default: return;
    }
}

void CudaGraphExec::update(const NodeData& node, const SourceLocation& where) {
    if (node.conditional != nullptr) {
        make_anew(*node.graph, where);
        node.graph->changed.clear();  // all of them are in it
        return;
    }
    if (node.kind == NodeKind::host_function || (node.kind == NodeKind::kernel && node.device.is_cpu())) {
        const auto host =
            std::ranges::find_if(hosts_, [&](const HostNode& h) { return h.node == node.index; });
        if (host != hosts_.end()) host->next = turn_of(node);
        return;
    }
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
    check_update(cudaGraphNodeSetEnabled(exec_, nodes_[node.index], disabled ? 0 : 1),
                 "cudaGraphNodeSetEnabled", node, where);
    disabled_[node.index] = disabled;
}

std::shared_ptr<GraphExec> CudaBackend::instantiate(const GraphData& graph, const SourceLocation& where) {
    return std::make_shared<CudaGraphExec>(graph, where);
}

}  // namespace heddle::detail::cu
