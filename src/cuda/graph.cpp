#include "cuda/graph.hpp"

#include <algorithm>
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
    run_in_graph(*turn.stream, turn.at, *turn.type, turn.closure.get(), turn.count, turn.where);
}

CudaGraphExec::CudaGraphExec(const GraphData& graph, const SourceLocation& where)
    : gpu_(gpu(graph.device.index(), where)), disabled_(graph.nodes.size()), functions_(graph.nodes.size()),
      symbols_(graph.nodes.size()) {
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
    hosts_.push_back({node.index, place, {node.work.closure, node.work.type, node.work.count, node.where}});
}

void CudaGraphExec::add(const GraphData& graph, const NodeData& node, const SourceLocation& where) {
    std::vector<cudaGraphNode_t> after;
    for (const std::uint32_t first : graph.dependencies[node.index]) after.push_back(nodes_[first]);
    cudaGraphNode_t& made = nodes_.emplace_back();
    const auto done = [&](cudaError_t code, const char* call) { check(code, call, gpu_.index, where); };
    switch (node.kind) {
    case NodeKind::kernel: {
        if (node.device.is_cpu())  // on one thread: the graph's order is the driver's to keep
            return add_host(node, after, where);
        if (node.work.count == 0) break;
        KernelParameters p(node, where);
        InContext in(gpu(node.device.index(), where));
        return done(cudaGraphAddKernelNode(&made, graph_, after.data(), after.size(), &p.native),
                    "cudaGraphAddKernelNode");
    }
    case NodeKind::host_function: return add_host(node, after, where);
    case NodeKind::other:
        return done(cudaGraphAddChildGraphNode(&made, graph_, after.data(), after.size(),
                                               static_cast<cudaGraph_t>(node.foreign.get())),
                    "cudaGraphAddChildGraphNode");
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
    OnStream on(gpu_, stream.native);
    const CUresult code = driver.launch_graph(exec_, native_of(stream));
    if (code != CUDA_SUCCESS) [[unlikely]]
        for (HostNode& host : hosts_) {
            const std::lock_guard lock(host.host->mutex);
            host.host->turns.pop_back();
        }
    check(code, "cuGraphLaunch", stream, where);
    count_submission(stream);
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
    node.work.form(node.work.closure.get(), static_cast<unsigned>(g.limits.processors), form_, where);
    InContext in(g);
    if (symbols_[node.index] != form_.function) {
        cudaFunction_t function = nullptr;
        check_update(cudaGetFuncBySymbol(&function, form_.function), "cudaGetFuncBySymbol", node, where);
        functions_[node.index] = function;
        symbols_[node.index] = form_.function;
    }
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = functions_[node.index];
    p.gridDimX = form_.grid[0], p.gridDimY = form_.grid[1], p.gridDimZ = form_.grid[2];
    p.blockDimX = form_.block[0], p.blockDimY = form_.block[1], p.blockDimZ = form_.block[2];
    p.sharedMemBytes = static_cast<unsigned>(form_.shared_bytes);
    p.kernelParams = form_.arguments.data();
    check_update(as_runtime(driver.set_kernel_node(exec_, nodes_[node.index], &p)),
                 "cuGraphExecKernelNodeSetParams", node, where);
}

void CudaGraphExec::update_other(const NodeData& node, const SourceLocation& where) {
    cudaGraphNode_t native = nodes_[node.index];
    switch (node.kind) {
    case NodeKind::copy: {
        refuse_peers(node, where);
        const cudaMemcpy3DParms p = copy_parameters(node);
        return check_update(cudaGraphExecMemcpyNodeSetParams(exec_, native, &p),
                            "cudaGraphExecMemcpyNodeSetParams", node, where);
    }
    case NodeKind::fill: {
        const cudaMemsetParams p = fill_parameters(node, where);
        return check_update(cudaGraphExecMemsetNodeSetParams(exec_, native, &p),
                            "cudaGraphExecMemsetNodeSetParams", node, where);
    }
    case NodeKind::record_event:
        return check_update(cudaGraphExecEventRecordNodeSetEvent(exec_, native, native_of(*node.event)),
                            "cudaGraphExecEventRecordNodeSetEvent", node, where);
    case NodeKind::wait_event:
        return check_update(cudaGraphExecEventWaitNodeSetEvent(exec_, native, native_of(*node.event)),
                            "cudaGraphExecEventWaitNodeSetEvent", node, where);
    default: return;
    }
}

void CudaGraphExec::update(const NodeData& node, const SourceLocation& where) {
    if (node.kind == NodeKind::host_function || (node.kind == NodeKind::kernel && node.device.is_cpu())) {
        const auto host =
            std::ranges::find_if(hosts_, [&](const HostNode& h) { return h.node == node.index; });
        if (host != hosts_.end())
            host->next = {node.work.closure, node.work.type, node.work.count, node.where};
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

// What others give a captured stream past heddle ------------------------------------------------------------------------

void CudaBackend::begin_foreign(StreamRecord& stream, int mode, const SourceLocation& where) {
    const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal,
                                           cudaStreamCaptureModeRelaxed};
    InContext in(gpu_of(stream));
    check(cudaStreamBeginCapture(native_of(stream), modes[mode]), "cudaStreamBeginCapture", stream, where);
}

std::shared_ptr<void> CudaBackend::take_foreign(StreamRecord& stream, int mode, const SourceLocation& where) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    check(driver.capture_info(native_of(stream), &status, nullptr, &graph, nullptr, nullptr, nullptr),
          "cuStreamGetCaptureInfo", stream, where);
    std::size_t nodes = 0;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        check(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes", stream, where);
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && nodes == 0) return nullptr;
    InContext in(gpu_of(stream));
    cudaGraph_t taken = nullptr;
    const cudaError_t code = cudaStreamEndCapture(native_of(stream), &taken);
    if (code != cudaSuccess) {
        cudaGetLastError();
        begin_foreign(stream, mode, where);
        throw_usage(std::string("what the stream was given past heddle cannot be captured: ") +
                        cudaGetErrorString(code),
                    "capture", &stream, where);
    }
    std::shared_ptr<void> result(taken, [](void* g) { cudaGraphDestroy(static_cast<cudaGraph_t>(g)); });
    begin_foreign(stream, mode, where);
    return result;
}

void CudaBackend::drop_foreign(StreamRecord& stream) noexcept {
    InContext in(gpu_of(stream));
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(native_of(stream), &graph) != cudaSuccess) cudaGetLastError();
    else cudaGraphDestroy(graph);
}

}  // namespace heddle::detail::cu
