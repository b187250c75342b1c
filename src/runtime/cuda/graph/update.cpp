// Changes an instantiated graph: in place if CUDA can do so, otherwise by a new executable.
#include <algorithm>
#include <mutex>
#include <utility>

#include "cuda/device/context.hpp"
#include "cuda/graph/graph.hpp"
#include "cuda/graph/node_parameters.hpp"
#include "cuda/host_sync/signal.hpp"

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

void NativeGraph::check_update(cudaError_t code, const char* call, const NodeData& node,
                               const SourceLocation& where) {
    if (code == cudaSuccess) return;
    if (is_sticky(code)) check(code, call, gpu->index, where);
    cudaGetLastError();
    unsupported_error(
        with_native({call, where, node.device}, code),
        "CUDA cannot change {} in this way in an instantiated graph ({}): build another graph",
        label_of(node), cudaGetErrorString(code));
}

/// Calls the driver, because its call takes 0.2 µs, and the runtime's 0.35 µs. Without a current
/// context, the driver crashes (seen with driver 580).
void NativeGraph::update_kernel(const NodeData& node, const SourceLocation& where) {
    NativeNode& one = nodes[node.index];
    const Gpu& g = cu::gpu(node.device.index(), where);
    const GraphBounds::Building building(&bounds);
    const BoundsSite* const site = site_of_node(node, false);
    const KernelForm form = form_of(node, g, addresses_, site, where);
    InContext in(g);
    CUDA_KERNEL_NODE_PARAMS p = kernel_parameters(form);
    if (!form.is_loaded) {
        if (one.symbol != form.function) {
            cudaFunction_t function = nullptr;
            check_update(api.cudaGetFuncBySymbol(&function, form.function), "cudaGetFuncBySymbol",
                         node, where);
            one.function = function;
            one.symbol = form.function;
        }
        p.func = one.function;
    }
    check_update(change_kernel(exec.get(), one.native, p), "cuGraphExecKernelNodeSetParams", node,
                 where);
}

cudaGraphNodeType NativeGraph::native_type(const NativeNode& node,
                                           const SourceLocation& where) const {
    cudaGraphNodeType type{};
    check(api.cudaGraphNodeGetType(node.native, &type), "cudaGraphNodeGetType", gpu->index, where);
    return type;
}

bool NativeGraph::is_memset(const NodeData& node, const SourceLocation& where) const {
    return node.kind == NodeKind::fill &&
           native_type(nodes[node.index], where) == cudaGraphNodeTypeMemset;
}

void NativeGraph::keep_event(const NodeData& node) {
    NativeNode& one = nodes[node.index];
    if (one.event == node.event) return;
    replaced.push_back(std::exchange(one.event, node.event));
}

void NativeGraph::update_other(const NodeData& node, const SourceLocation& where) {
    const cudaGraphNode_t native = nodes[node.index].native;
    switch (node.kind) {
    case NodeKind::copy: {
        ensure_access(node, where);
        Gpu& g = gpu_of_memory(node, *gpu, where);
        InContext in(g);
        return check_update(
            change_copy(exec.get(), native, copy_parameters(node.to, node.from), g.context),
            "cuGraphExecMemcpyNodeSetParams", node, where);
    }
    case NodeKind::fill: {
        Gpu& g = gpu_of_memory(node, *gpu, where);
        InContext in(g);
        const FillParameters p(node, g, node.was_disabled && !is_memset(node, where));
        return check_update(
            change_node(exec.get(), native,
                        p.is_kernel ? NodeParameters(p.kernel) : NodeParameters(p.memset)),
            "cudaGraphExecNodeSetParams (fill)", node, where);
    }
    case NodeKind::record_event:
    case NodeKind::wait_event:
        check_update(change_node(exec.get(), native, event_parameters(node, where)),
                     "cudaGraphExecNodeSetParams (event)", node, where);
        return keep_event(node);
    case NodeKind::other: {
        // CUDA can make this change only if the two child graphs have equal nodes, added in the
        // same order.
        const std::lock_guard lock(child_graphs_mutex);
        return check_update(
            change_node(exec.get(), native,
                        NodeParameters::child_graph(static_cast<cudaGraph_t>(node.foreign.get()))),
            "cudaGraphExecNodeSetParams (child graph)", node, where);
    }
    default: return;
    }
}

/// Changes a node in place. Throws Unsupported if CUDA cannot do so.
void NativeGraph::change(const NodeData& node, const SourceLocation& where) {
    const bool disabled = !node.enabled || node.has_no_work();
    if (node.kind == NodeKind::kernel && !disabled) {
        update_kernel(node, where);
        if (!nodes[node.index].is_disabled) return;
    }
    RelaxedCapture relaxed;
    InContext in(cu::gpu(node.device.is_cuda() ? node.device.index() : gpu->index, where));
    if (!disabled && node.kind != NodeKind::kernel) update_other(node, where);
    if (disabled != nodes[node.index].is_disabled) set_enabled(node, !disabled, where);
}

/// Enables or disables a node. Throws Unsupported for a memset node: after a memset node is
/// disabled, launches may also omit other nodes, hang or lose the device (docs/adr/0037). The
/// caller then rebuilds the graph once, with a kernel node instead.
void NativeGraph::set_enabled(const NodeData& node, bool on, const SourceLocation& where) {
    if (is_memset(node, where))
        unsupported_error({"update", where, node.device},
                          "{} is a memset node, which cannot be changed: build another graph",
                          label_of(node));
    check_update(api.cudaGraphNodeSetEnabled(exec.get(), nodes[node.index].native, on ? 1 : 0),
                 "cudaGraphNodeSetEnabled", node, where);
    nodes[node.index].is_disabled = !on;
    is_reusable = false;
    if (on) ++active;
    else --active;
}

bool CudaGraphExec::update(const NodeData& node, const SourceLocation& where) {
    if (is_host(node)) {
        const auto host = std::ranges::find_if(
            native_.hosts, [&](const HostNode& h) { return h.node == node.index; });
        if (host != native_.hosts.end()) host->next = turn_of(node);
        return false;
    }
    bool in_place =
        node.conditional == nullptr && !native_.nodes[node.index].is_staged && !is_staged(node);
    if (in_place) {
        try {
            native_.change(node, where);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported || node.graph == nullptr) throw;
            in_place = false;
        }
    }
    if (in_place) return false;
    if (node.graph == nullptr)  // this graph belongs to a batch, which then makes a new graph
        unsupported_error({"update", where, node.device},
                          "{} cannot be changed in an instantiated graph: build another graph",
                          label_of(node));
    make_anew(*node.graph, where);
    return true;
}

}  // namespace heddle::detail::cu
