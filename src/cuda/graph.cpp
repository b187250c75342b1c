#include "cuda/graph.hpp"

#include <cstring>

#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/fill_kernels.hpp"
#include "cuda/host_function.hpp"

namespace heddle::detail::cu {

namespace {

/// What a node does, as CUDA wants to be told. The kernel's form and parameters point into each other: not to be moved.
struct KernelParameters {
    KernelForm form;
    cudaKernelNodeParams native{};

    KernelParameters(const NodeData& node, const SourceLocation& where) {
        const Gpu& g = gpu(node.device.index(), where);
        node.work.form(node.work.closure.get(), static_cast<unsigned>(g.limits.processors), form, where);
        native.func = const_cast<void*>(form.function);
        native.gridDim = dim3(form.grid[0], form.grid[1], form.grid[2]);
        native.blockDim = dim3(form.block[0], form.block[1], form.block[2]);
        native.sharedMemBytes = static_cast<unsigned>(form.shared_bytes);
        native.kernelParams = form.arguments.data();
    }
    KernelParameters(const KernelParameters&) = delete;
    KernelParameters& operator=(const KernelParameters&) = delete;
};

cudaMemcpy3DParms copy_parameters(const NodeData& node) {
    cudaMemcpy3DParms p{};
    p.dstPtr = {node.to.data, node.to.pitch, node.to.bytes, node.to.rows};
    p.srcPtr = {node.from.data, node.from.pitch, node.from.bytes, node.from.rows};
    p.extent = {node.to.bytes, node.to.rows, 1};
    p.kind = cudaMemcpyDefault;
    return p;
}

/// Memory of pools cannot be copied between GPUs by a node without access to it, and cudaMemcpyPeerAsync, which needs none, cannot
/// be captured (both seen with CUDA 13.0).
void refuse_peers(const NodeData& node, const SourceLocation& where) {
    const Place &to = node.to.place, &from = node.from.place;
    if (!to.device.is_cuda() || !from.device.is_cuda() || to.device == from.device) return;
    throw_error({.code = ErrorCode::unsupported,
                 .message = label_of(node) + " copies from " + from.device.name() + " to " +
                            to.device.name() +
                            ", which graphs cannot do yet: copy by way of pinned(), with two nodes",
                 .call = "copy_node",
                 .device = node.device,
                 .where = where});
}

cudaMemsetParams fill_parameters(const NodeData& node, const SourceLocation& where) {
    const Rectangle to{node.to.data, node.to.bytes, node.to.rows, node.to.pitch};
    const std::size_t word = word_of(to, node.value.data(), node.value.size());
    if (word == 0)
        throw_error({.code = ErrorCode::unsupported,
                     .message = label_of(node) + " fills with elements of " +
                                std::to_string(node.value.size()) +
                                " bytes: CUDA's graphs fill with 1, 2 or 4 bytes repeated. Use a kernel",
                     .call = "fill_node",
                     .device = node.device,
                     .where = where});
    cudaMemsetParams p{};
    p.dst = to.data;
    p.pitch = to.pitch;
    p.elementSize = static_cast<unsigned>(word);
    std::memcpy(&p.value, node.value.data(), word);  // little endian
    p.width = to.bytes / word;
    p.height = to.rows;
    return p;
}

}  // namespace

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
        instantiate(where);
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
    case NodeKind::kernel: {
        if (node.device.is_cpu())  // on one thread: the graph's order is the driver's to keep
            return add_host(node, *node.work.type, node.work.closure, node.work.count, after, where);
        if (node.work.count == 0) break;
        KernelParameters p(node, where);
        InContext in(gpu(node.device.index(), where));
        return done(cudaGraphAddKernelNode(&made, graph_, after.data(), after.size(), &p.native),
                    "cudaGraphAddKernelNode");
    }
    case NodeKind::host_function: return add_host(node, *node.work.type, node.work.closure, 1, after, where);
    case NodeKind::copy: {
        refuse_peers(node, where);
        const cudaMemcpy3DParms p = copy_parameters(node);
        InContext in(gpu(node.device.is_cuda() ? node.device.index() : gpu_.index, where));
        return done(cudaGraphAddMemcpyNode(&made, graph_, after.data(), after.size(), &p),
                    "cudaGraphAddMemcpyNode");
    }
    case NodeKind::fill: {
        const cudaMemsetParams p = fill_parameters(node, where);
        InContext in(gpu(node.device.is_cuda() ? node.device.index() : gpu_.index, where));
        return done(cudaGraphAddMemsetNode(&made, graph_, after.data(), after.size(), &p),
                    "cudaGraphAddMemsetNode");
    }
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
    done(cudaGraphAddEmptyNode(&made, graph_, after.data(), after.size()), "cudaGraphAddEmptyNode");
}

void CudaGraphExec::instantiate(const SourceLocation& where) {
    check(cudaGraphInstantiate(&exec_, graph_, 0), "cudaGraphInstantiate", gpu_.index, where);
}

void CudaGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    if (has_host_functions_) {
        stream_->store(&stream, std::memory_order_release);
        stream.set(stream_flag::fallible);
    }
    OnStream on(gpu_, stream.native);
    check(driver.launch_graph(exec_, native_of(stream)), "cuGraphLaunch", stream, where);
    count_submission(stream);
}

void CudaGraphExec::upload(StreamRecord& stream, const SourceLocation& where) {
    InContext in(gpu_);
    check(cudaGraphUpload(exec_, native_of(stream)), "cudaGraphUpload", stream, where);
}

void CudaGraphExec::update(const NodeData& node, const SourceLocation& where) {
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
            refuse_peers(node, where);
            const cudaMemcpy3DParms p = copy_parameters(node);
            done(cudaGraphExecMemcpyNodeSetParams(exec_, native, &p), "cudaGraphExecMemcpyNodeSetParams");
            break;
        }
        case NodeKind::fill: {
            const cudaMemsetParams p = fill_parameters(node, where);
            done(cudaGraphExecMemsetNodeSetParams(exec_, native, &p), "cudaGraphExecMemsetNodeSetParams");
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
