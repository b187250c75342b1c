#include "cuda/graph/node_parameters.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cuda/device/context.hpp"
#include "cuda/host_sync/bounds.hpp"
#include "cuda/host_sync/signal.hpp"
#include "cuda/launch/launch_options.hpp"
#include "cuda/memory/access.hpp"
#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

namespace {

LaunchOptions options_of(const NodeData& node) {
    LaunchOptions options = node.work.options;
    if (node.priority != 0) options.priority = node.priority;
    return options;
}

/// Returns the edges to a kernel that may start before some of its dependencies have finished.
std::vector<cudaGraphEdgeData> early_edges(const Before& before, const NodeAdder& adder) {
    std::vector<cudaGraphEdgeData> edges(before.early.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!before.early[i]) continue;
        cudaGraphNodeType type{};
        check(api.cudaGraphNodeGetType(before.nodes[i], &type), "cudaGraphNodeGetType",
              adder.gpu().index, adder.where());
        // A kernel without indices is an empty node.
        if (type != cudaGraphNodeTypeKernel) continue;
        edges[i].from_port = cudaGraphKernelNodePortProgrammatic;
        edges[i].type = cudaGraphDependencyTypeProgrammatic;
    }
    return edges;
}

}  // namespace

void ensure_access(const NodeData& node, const SourceLocation& where) {
    const Device to = node.to.space.device, from = node.from.space.device;
    if (!to.is_cuda() || !from.is_cuda() || to == from) return;
    if (node.to.space.kind != MemoryKind::device || node.from.space.kind != MemoryKind::device)
        return;
    if (open_pools(to, from, where)) return;
    unsupported_error({"copy_node", where, node.device},
                      "{} copies from {} to {}, which cannot access each other: in a graph, use "
                      "two nodes that copy through pinned()",
                      label_of(node), from, to);
}

Before::Before(const GraphData& graph, const NodeData& node, std::span<const NativeNode> made) {
    const auto& dependencies = graph.dependencies[node.index];
    for (const std::uint32_t first : dependencies) nodes.push_back(made[first].native);
    if (node.primaries.empty() || node.device.is_cpu() || node.device.info().compute_major < 9)
        return;
    for (const std::uint32_t first : dependencies) {
        const NodeData& other = *graph.nodes[first];
        early.push_back(node.is_dependent_on(other) && other.kind == NodeKind::kernel &&
                        other.device == node.device);
    }
}

KernelForm form_of(const NodeData& node, const Gpu& g, std::vector<void*>& addresses,
                   const BoundsSite* const& site, const SourceLocation& where) {
    const WorkType& type = *node.work.type;
    addresses.resize(type.parts() + 1);  // one more for the site
    // Making a node of the kernel loads the kernel.
    if (type.code != nullptr) {
        const PortableCode code = type.code();
        constexpr std::uint64_t all = ~std::uint64_t{0};
        if (code.registered && code.loaded->load(std::memory_order_relaxed) != all)
            code.loaded->store(all, std::memory_order_relaxed);
    }
    return form_of(type, node.work.closure.get(), addresses.data() + 1,
                   static_cast<unsigned>(g.limits.processors), node.work.options, site, where);
}

namespace {
/// Converts the form of a kernel to the runtime's parameters.
cudaKernelNodeParams runtime_parameters(const KernelForm& form) noexcept {
    cudaKernelNodeParams p{};
    p.func = const_cast<void*>(form.function);
    p.gridDim = form.grid;
    p.blockDim = form.block;
    p.sharedMemBytes = static_cast<unsigned>(form.shared_bytes);
    p.kernelParams = form.arguments;
    return p;
}
}  // namespace

CUDA_KERNEL_NODE_PARAMS kernel_parameters(const KernelForm& form) noexcept {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = static_cast<CUfunction>(const_cast<void*>(form.function));
    p.gridDimX = form.grid.x, p.gridDimY = form.grid.y, p.gridDimZ = form.grid.z;
    p.blockDimX = form.block.x, p.blockDimY = form.block.y, p.blockDimZ = form.block.z;
    p.sharedMemBytes = static_cast<unsigned>(form.shared_bytes);
    p.kernelParams = form.arguments;
    return p;
}

FillParameters::FillParameters(const NodeData& node, const Gpu& g, bool by_kernel) {
    const MemoryRange& to = node.to;
    const std::size_t size = node.value.size(), word = word_of(to, node.value.data(), size);
    const bool is_plain = size == 1 || size == 2 || size == 4 || size > max_pattern;
    // Never uses a memset node of 2-byte elements: after a change of such a node in an executable,
    // the second and later launches may fill with the lower byte only (driver 580; docs/adr/0037).
    const std::size_t whole = to.address() | to.bytes | to.pitch;
    const std::size_t element = word != 2 ? word : whole % 4 == 0 ? 4 : 0;
    if (element != 0 && is_plain && !by_kernel) {
        memset.dst = writable(to);
        memset.pitch = to.pitch;
        memset.elementSize = static_cast<unsigned>(element);
        auto* const bytes = reinterpret_cast<std::byte*>(&memset.value);  // little endian
        for (std::size_t i = 0; i < element; ++i) bytes[i] = node.value[i % word];
        memset.width = to.bytes / element;
        memset.height = to.rows;
        return;
    }
    is_kernel = true;
    make_fill(fill, to, node.value.data(), size > max_pattern ? word : size, g.limits.processors);
    kernel = node_parameters(fill);
}

NodeParameters event_parameters(const NodeData& node, const SourceLocation& where) {
    const cudaEvent_t event = native_for_graph(*node.event, where);
    return node.kind == NodeKind::record_event ? NodeParameters::record_event(event)
                                               : NodeParameters::wait_event(event);
}

CUDA_MEMCPY3D copy_parameters(const Operand& to, const Operand& from) noexcept {
    CUDA_MEMCPY3D p{};
    p.dstMemoryType = p.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    p.dstDevice = reinterpret_cast<CUdeviceptr>(to.data);
    p.dstPitch = to.pitch;
    p.dstHeight = to.rows;
    p.srcDevice = reinterpret_cast<CUdeviceptr>(from.data);
    p.srcPitch = from.pitch;
    p.srcHeight = from.rows;
    p.WidthInBytes = to.bytes;
    p.Height = to.rows;
    p.Depth = 1;
    return p;
}

Gpu& gpu_of_memory(const NodeData& node, Gpu& of_graph, const SourceLocation& where) {
    const Device* of_memory = nullptr;
    for (const Operand* operand : {&node.to, &node.from}) {
        const MemorySpace& space = operand->space;
        if (operand->data == nullptr || !space.device.is_cuda() || space.kind != MemoryKind::device)
            continue;
        // A copy between GPUs runs on the GPU that enqueued it: that GPU's work before and after
        // the copy then does not wait for another GPU. (docs/adr/0214)
        if (space.device == node.device) return gpu_of(node, of_graph, where);
        if (of_memory == nullptr) of_memory = &space.device;
    }
    return of_memory != nullptr ? gpu(of_memory->index(), where) : gpu_of(node, of_graph, where);
}

namespace {

/// Returns whether the operand is pinned memory that was allocated or registered with another GPU.
/// In bodies of conditional nodes, CUDA refuses memsets of such memory (invalid value), and copies
/// between two such operands fail with cudaErrorLaunchFailure (seen with driver 580). Kernels can
/// fill and copy such memory there.
bool is_pinned_with_another(const Operand& operand, const Gpu& g) noexcept {
    if (operand.data == nullptr || operand.space.kind != MemoryKind::pinned) return false;
    int device = g.index;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* answers[] = {&device};
    return api.cuPointerGetAttributes(
               1, asked, answers, reinterpret_cast<CUdeviceptr>(operand.data)) == CUDA_SUCCESS &&
           device != g.index;
}

}  // namespace

cudaGraphNode_t add_copy_node(const NodeAdder& adder, const Nodes& after, const Operand& to,
                              const Operand& from, const Gpu& g) {
    InContext in(g);
    if (!adder.is_body() || !(is_pinned_with_another(to, g) || is_pinned_with_another(from, g)))
        return adder.about(g).add(after, {copy_parameters(to, from), g.context},
                                  "cuGraphAddNode (copy)");
    CopyKernel copy;
    make_copy(copy, to, from, g.limits.processors);
    return adder.about(g).add(after, NodeParameters(node_parameters(copy)),
                              "cudaGraphAddNode (copy)");
}

Gpu& gpu_of(const NodeData& node, Gpu& of_graph, const SourceLocation& where) {
    return node.device.is_cuda() ? gpu(node.device.index(), where) : of_graph;
}

namespace {

/// Sets the options of a kernel node.
void set_options(cudaGraphNode_t made, StreamState& stream, const LaunchOptions& options,
                 const NodeAdder& adder) {
    cudaLaunchAttribute attributes[6];
    const unsigned count = attributes_of(stream, options, attributes);
    for (unsigned i = 0; i < count; ++i)
        check(api.cudaGraphKernelNodeSetAttribute(made, attributes[i].id, &attributes[i].val),
              "cudaGraphKernelNodeSetAttribute", adder.gpu().index, adder.where());
}

cudaGraphNode_t add_kernel(const NodeAdder& adder, const NodeData& node, const Before& before,
                           const Gpu& g) {
    std::vector<void*> addresses;
    const BoundsSite* const site = site_of_node(node, adder.is_body());
    const KernelForm form = form_of(node, g, addresses, site, adder.where());
    const LaunchOptions options = options_of(node);
    StreamState* const stream =
        options != LaunchOptions() ? &Access::state(default_stream(node.device)) : nullptr;
    cudaGraphNode_t made = nullptr;
    if (form.is_loaded) {  // its options were checked when the node was made
        made = adder.add(before.nodes, NodeParameters(kernel_parameters(form)),
                         "cuGraphAddNode (kernel)");
    } else {
        if (stream != nullptr)
            check_options(*stream, form.function, form.grid, form.block, form.shared_bytes, options,
                          adder.where());
        const std::vector<cudaGraphEdgeData> edges = early_edges(before, adder);
        made = adder.add(before.nodes, NodeParameters(runtime_parameters(form)),
                         "cudaGraphAddNode (kernel)", edges.empty() ? nullptr : edges.data());
    }
    if (stream != nullptr) set_options(made, *stream, options, adder);
    return made;
}

cudaGraphNode_t add_fill(const NodeAdder& adder, const NodeData& node, const Nodes& after,
                         const Gpu& g) {
    // A body's nodes are not disabled: see add_body().
    const bool by_kernel = adder.is_body() ? is_pinned_with_another(node.to, g) : node.was_disabled;
    const FillParameters p(node, g, by_kernel);
    return p.is_kernel ? adder.add(after, NodeParameters(p.kernel), "cudaGraphAddNode (fill)")
                       : adder.add(after, NodeParameters(p.memset), "cudaGraphAddNode (memset)");
}

}  // namespace

cudaGraphNode_t add_device_node(const NodeAdder& adder, const NodeData& node,
                                const Before& before) {
    const bool is_kernel = node.kind == NodeKind::kernel && node.device.is_cuda();
    if (node.has_no_work() ||
        !(is_kernel || node.kind == NodeKind::copy || node.kind == NodeKind::fill))
        return adder.add(before.nodes, {});
    Gpu& g = gpu_of_memory(node, adder.gpu(), adder.where());
    InContext in(g);
    if (is_kernel) return add_kernel(adder, node, before, g);
    if (node.kind == NodeKind::fill) return add_fill(adder, node, before.nodes, g);
    ensure_access(node, adder.where());
    return add_copy_node(adder, before.nodes, node.to, node.from, g);
}

cudaGraphNode_t add_work(const NodeAdder& adder, const NodeData& node, const Before& before) {
    if (node.conditional != nullptr) return add_conditional(adder, node, before.nodes);
    if (is_staged(node)) return add_staged_node(adder, node, before.nodes);
    return add_device_node(adder, node, before);
}

bool has_priorities(const GraphData& graph) noexcept {
    return std::ranges::any_of(graph.nodes, [](const auto& node) {
        return node->priority != 0 ||
               (node->conditional != nullptr &&
                std::ranges::any_of(node->conditional->bodies,
                                    [](const auto& body) { return has_priorities(*body); }));
    });
}

}  // namespace heddle::detail::cu
