// Conditional nodes on CUDA: the kernel that sets the condition, the native node itself, and its
// bodies, which are graphs that the native node owns.

#include "cuda/device/context.hpp"
#include "cuda/device/versions.hpp"
#include "cuda/graph/condition_kernel.hpp"
#include "cuda/graph/node_parameters.hpp"

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

namespace {

/// Throws Unsupported if CUDA does not allow the node in a body of `conditional`.
void check_inner(const NodeData& node, const NodeData& conditional, const SourceLocation& where) {
    const char* why = nullptr;
    if (node.kind == NodeKind::host_function) why = "is a host function";
    else if (node.device.is_cpu() && node.kind == NodeKind::kernel) why = "runs on a CPU device";
    else if (node.event != nullptr) why = "uses an event";
    else if (needs_host(node)) why = "uses memory of a CPU device";
    else if (node.kind == NodeKind::other) why = "was captured outside heddle";
    else if (node.device.is_cuda() && node.device != conditional.device)
        why = "runs on another GPU";
    if (why == nullptr) return;
    unsupported_error({"instantiate", where, conditional.device},
                      "{} {}, which CUDA does not allow in the body of {}: move that node before "
                      "or after the conditional node, or use a kernel of {}",
                      label_of(node), why, label_of(conditional), conditional.device);
}

/// Adds a body's nodes to the graph that CUDA made for it. Returns the nodes without successors.
Nodes add_body(const NodeAdder& adder, const GraphData& body, const NodeData& conditional) {
    std::vector<NativeNode> made;
    std::vector<bool> is_end(body.nodes.size(), true);
    made.reserve(body.nodes.size());
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
        const NodeData& node = *body.nodes[i];
        check_inner(node, conditional, adder.where());
        const Before before(body, node, made);
        for (const std::uint32_t first : body.dependencies[i]) is_end[first] = false;
        // Adds an empty node instead of a disabled one, because nodes of a body cannot be enabled
        // later.
        made.emplace_back().native = node.enabled || node.conditional != nullptr
                                         ? add_work(adder, node, before)
                                         : adder.add(before.nodes, {});
    }
    Nodes ends;
    for (std::size_t i = 0; i < made.size(); ++i)
        if (is_end[i]) ends.push_back(made[i].native);
    return ends;
}

cudaGraphConditionalNodeType type_of(ConditionalKind kind) noexcept {
    switch (kind) {
    case ConditionalKind::while_loop: return cudaGraphCondTypeWhile;
    case ConditionalKind::switch_case: return condition_switch;
    case ConditionalKind::if_else: break;
    }
    return cudaGraphCondTypeIf;
}

}  // namespace

cudaGraphNode_t add_conditional(const NodeAdder& adder, const NodeData& node, const Nodes& after) {
    const Conditional& conditional = *node.conditional;
    const auto bodies = static_cast<unsigned>(conditional.bodies.size());
    const ErrorSite site{"instantiate", adder.where(), node.device};
    if (conditional.kind == ConditionalKind::switch_case)
        need_runtime(12080, "a switch node", site);
    else if (bodies > 1) need_runtime(12080, "an if node with an else body", site);
    // The handle, the kernels that set it, and the bodies must belong to one device. CUDA refuses
    // bodies of another device at instantiation. If a kernel of another device sets the handle, it
    // fails with cudaErrorIllegalAddress (driver 580).
    Gpu& g = gpu(node.device.index(), adder.where());
    InContext in(g);
    // The handle belongs to the graph that contains the node, not to its bodies.
    cudaGraphConditionalHandle handle = 0;
    check(api.cudaGraphConditionalHandleCreate(&handle, adder.graph(), 0, 0),
          "cudaGraphConditionalHandleCreate", g.index, adder.where());
    ConditionKernel setter(handle, static_cast<const int*>(conditional.value.data),
                           conditional.kind == ConditionalKind::switch_case ? bodies : 0);
    const NodeParameters set(setter.native);
    constexpr char call[] = "cudaGraphAddNode (condition)";

    cudaConditionalNodeParams parameters{};
    parameters.handle = handle;
    parameters.type = type_of(conditional.kind);
    parameters.size = bodies;
    const cudaGraphNode_t made = adder.add_conditional(adder.add(after, set, call), parameters);
    for (unsigned i = 0; i < bodies; ++i) {
        const NodeAdder inner(parameters.phGraph_out[i], adder.keeper(), g, adder.where());
        const Nodes ends = add_body(inner, *conditional.bodies[i], node);
        if (conditional.kind == ConditionalKind::while_loop) inner.add(ends, set, call);
    }
    return made;
}

}  // namespace heddle::detail::cu
