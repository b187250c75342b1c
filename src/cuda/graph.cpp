#include "cuda/graph.hpp"

#include <utility>

#include "core/order.hpp"
#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/graph_parameters.hpp"
#include "cuda/host_function.hpp"

namespace heddle::detail::cu {

/// A host function of a graph. The graph owns it (a user object), and what was launched keeps it.
struct CudaGraphExec::Host {
    SharedClosure closure;
    const OpType* type;
    std::size_t count;
    SourceLocation where;
    std::shared_ptr<std::atomic<StreamRecord*>> stream;

    static void run(void* data) {
        const auto& host = *static_cast<const Host*>(data);
        run_in_graph(*host.stream->load(), *host.type, host.closure.get(), host.count, host.where);
    }
};

CudaGraphExec::CudaGraphExec(const GraphData& graph, const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), stream_(std::make_shared<std::atomic<StreamRecord*>>(nullptr)) {
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

CudaGraphExec::~CudaGraphExec() {
    if (is_forked()) return;
    if (!in_callback) {
        destroy();
        return;
    }
    // On a thread of the driver's: a host function held the last graph.
    try {
        defer(gpu_, [graph = graph_, exec = exec_] {
            if (exec != nullptr) cudaGraphExecDestroy(exec);
            if (graph != nullptr) cudaGraphDestroy(graph);
        });
    } catch (...) {
        report(std::current_exception());
    }
}

void CudaGraphExec::destroy() noexcept {
    RelaxedCapture relaxed;
    InContext in(gpu_);
    if (exec_ != nullptr) note_failure(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy", gpu_.index);
    if (graph_ != nullptr) note_failure(cudaGraphDestroy(graph_), "cudaGraphDestroy", gpu_.index);
    exec_ = nullptr;
    graph_ = nullptr;
}

void CudaGraphExec::add_host(const NodeData& node, const OpType& type, SharedClosure closure,
                             std::size_t count, const std::vector<cudaGraphNode_t>& after,
                             const SourceLocation& where) {
    auto host = std::make_unique<Host>(Host{std::move(closure), &type, count, node.where, stream_});
    cudaUserObject_t object = nullptr;
    const auto drop = [](void* data) {
        InCallback in;
        delete static_cast<Host*>(data);
    };
    check(cudaUserObjectCreate(&object, host.get(), drop, 1, cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate", gpu_.index, where);
    cudaHostNodeParams p{&Host::run, host.release()};
    check(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), "cudaGraphRetainUserObject",
          gpu_.index, where);
    check(cudaGraphAddHostNode(&nodes_.back(), graph_, after.data(), after.size(), &p),
          "cudaGraphAddHostNode", gpu_.index, where);
    has_host_functions_ = true;
}

void CudaGraphExec::add(const GraphData& graph, const NodeData& node, const SourceLocation& where) {
    std::vector<cudaGraphNode_t> after;
    for (const std::uint32_t first : graph.dependencies[node.index]) after.push_back(nodes_[first]);
    cudaGraphNode_t& made = nodes_.emplace_back();
    const auto done = [&](cudaError_t code, const char* call) { check(code, call, gpu_.index, where); };
    switch (node.kind) {
    case NodeKind::kernel:
        if (node.device.is_cpu())  // on one thread: the graph's order is the driver's to keep
            return add_host(node, *node.work.type, node.work.closure, node.work.count, after, where);
        break;
    case NodeKind::host_function: return add_host(node, *node.work.type, node.work.closure, 1, after, where);
    case NodeKind::conditional: made = add_conditional(graph_, node, after, gpu_, where); return;
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
    made = add_device_node(graph_, node, after, gpu_, where);
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
    std::swap(stream_, other.stream_);
    std::swap(has_host_functions_, other.has_host_functions_);
    is_new_ = true;
}

void CudaGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    if (has_host_functions_) {
        stream_->store(&stream, std::memory_order_release);
        stream.set(stream_flag::fallible);
    }
    if (is_new_) [[unlikely]] {
        if (last_ != nullptr && last_ != &stream) order_after_all_of(stream, *last_, where);
        is_new_ = false;
    }
    last_ = &stream;
    OnStream on(gpu_, stream.native);
    check(driver.launch_graph(exec_, native_of(stream)), "cuGraphLaunch", stream, where);
    count_submission(stream);
}

void CudaGraphExec::upload(StreamRecord& stream, const SourceLocation& where) {
    InContext in(gpu_);
    check(cudaGraphUpload(exec_, native_of(stream)), "cudaGraphUpload", stream, where);
}

void CudaGraphExec::update(const NodeData& node, const SourceLocation& where) {
    if (node.conditional != nullptr) {
        make_anew(*node.graph, where);
        node.graph->changed.clear();  // all of them are in it
        return;
    }
    RelaxedCapture relaxed;
    const int device = node.device.is_cuda() ? node.device.index() : gpu_.index;
    InContext in(gpu(device, where));
    cudaGraphNode_t native = nodes_[node.index];
    const auto done = [&](cudaError_t code, const char* call) {
        if (code == cudaSuccess) return;
        cudaGetLastError();
        throw_error({.code = ErrorCode::unsupported,
                     .message = label_of(node) +
                                " cannot be changed like this in a graph that is instantiated: " +
                                cudaGetErrorString(code) + ". Build another graph",
                     .call = call,
                     .native_code = code,
                     .native_name = cudaGetErrorName(code),
                     .device = Device::unchecked(DeviceKind::cuda, device),
                     .where = where});
    };
    if (node.enabled) switch (node.kind) {
        case NodeKind::kernel:
            if (node.device.is_cpu()) break;
            if (node.work.count == 0)
                return done(cudaGraphNodeSetEnabled(exec_, native, 0), "cudaGraphNodeSetEnabled");
            {
                KernelParameters p(node, where);
                done(cudaGraphExecKernelNodeSetParams(exec_, native, &p.native),
                     "cudaGraphExecKernelNodeSetParams");
            }
            break;
        case NodeKind::copy: {
            const cudaMemcpy3DParms p = copy_parameters(node, where);
            done(cudaGraphExecMemcpyNodeSetParams(exec_, native, &p), "cudaGraphExecMemcpyNodeSetParams");
            break;
        }
        case NodeKind::fill: {
            const FillParameters p(node, gpu(device, where), where);
            if (p.is_kernel)
                done(cudaGraphExecKernelNodeSetParams(exec_, native, &p.kernel),
                     "cudaGraphExecKernelNodeSetParams (fill)");
            else
                done(cudaGraphExecMemsetNodeSetParams(exec_, native, &p.memset),
                     "cudaGraphExecMemsetNodeSetParams");
            break;
        }
        default: break;
        }
    if (node.kind == NodeKind::host_function || (node.kind == NodeKind::kernel && node.device.is_cpu()))
        throw_error(
            {.code = ErrorCode::unsupported,
             .message = label_of(node) +
                        " runs on the host, and cannot be changed in a CUDA graph: build another graph",
             .call = "update",
             .where = where});
    if (node.kind == NodeKind::kernel || node.kind == NodeKind::copy || node.kind == NodeKind::fill)
        done(cudaGraphNodeSetEnabled(exec_, native, node.enabled ? 1 : 0), "cudaGraphNodeSetEnabled");
}

std::shared_ptr<GraphExec> CudaBackend::instantiate(const GraphData& graph, const SourceLocation& where) {
    return std::make_shared<CudaGraphExec>(graph, where);
}

}  // namespace heddle::detail::cu
