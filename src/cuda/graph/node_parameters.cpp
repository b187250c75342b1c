#include "cuda/graph/node_parameters.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cuda/device/context.hpp"
#include "cuda/launch/launch_options.hpp"
#include "cuda/memory/access.hpp"
#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

using Nodes = std::vector<cudaGraphNode_t>;

namespace {

LaunchOptions options_of(const NodeData& node) {
    LaunchOptions options = node.work.options;
    if (node.priority != 0) options.priority = node.priority;
    return options;
}

void set_attributes(cudaGraphNode_t made, const NodeData& node, const Gpu& g,
                    const SourceLocation& where) {
    cudaLaunchAttribute attributes[6];
    const unsigned count =
        attributes_of(Access::state(default_stream(node.device)), options_of(node), attributes);
    for (unsigned i = 0; i < count; ++i)
        check(api.cudaGraphKernelNodeSetAttribute(made, attributes[i].id, &attributes[i].val),
              "cudaGraphKernelNodeSetAttribute", g.index, where);
}

/// Adds a kernel that may start before some of its dependencies have finished.
cudaGraphNode_t add_dependent_kernel(cudaGraph_t graph, const KernelParameters& p,
                                     const Before& before, const Gpu& g,
                                     const SourceLocation& where) {
    std::vector<cudaGraphEdgeData> edges(before.nodes.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!before.early[i]) continue;
        cudaGraphNodeType type{};
        check(api.cudaGraphNodeGetType(before.nodes[i], &type), "cudaGraphNodeGetType", g.index,
              where);
        // A kernel without indices is an empty node.
        if (type != cudaGraphNodeTypeKernel) continue;
        edges[i].from_port = cudaGraphKernelNodePortProgrammatic;
        edges[i].type = cudaGraphDependencyTypeProgrammatic;
    }
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = p.native.func;
    params.kernel.gridDim = p.native.gridDim;
    params.kernel.blockDim = p.native.blockDim;
    params.kernel.sharedMemBytes = p.native.sharedMemBytes;
    params.kernel.kernelParams = p.native.kernelParams;
    cudaGraphNode_t made = nullptr;
    check(api.cudaGraphAddNode(&made, graph, before.nodes.data(), edges.data(), edges.size(),
                               &params),
          "cudaGraphAddNode", g.index, where);
    return made;
}

}  // namespace

void ensure_access(const NodeData& node, const SourceLocation& where) {
    const Device to = node.to.place.device, from = node.from.place.device;
    if (!to.is_cuda() || !from.is_cuda() || to == from) return;
    if (node.to.place.kind != MemoryKind::device || node.from.place.kind != MemoryKind::device)
        return;
    if (open_pools(to, from, where)) return;
    unsupported_error({"copy_node", where, node.device},
                      "{} copies from {} to {}, which cannot reach each other: in a graph, copy by "
                      "way of pinned(), with two nodes",
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

KernelForm form_of(const NodeData& node, std::vector<void*>& addresses,
                   const SourceLocation& where) {
    const Gpu& g = gpu(node.device.index(), where);
    const WorkType& type = *node.work.type;
    addresses.resize(type.parts());
    if (type.code != nullptr && type.code().registered)  // making a node of it loads the kernel
        type.code().loaded->store(~std::uint64_t{0}, std::memory_order_relaxed);
    return form_of(type, node.work.closure.get(), addresses.data(),
                   static_cast<unsigned>(g.limits.processors), node.work.options, where);
}

KernelParameters::KernelParameters(const NodeData& node, const SourceLocation& where)
    : form(form_of(node, addresses, where)) {
    native.func = const_cast<void*>(form.function);
    native.gridDim = form.grid;
    native.blockDim = form.block;
    native.sharedMemBytes = static_cast<unsigned>(form.shared_bytes);
    native.kernelParams = form.arguments;
}

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
    // If a memset node of 2-byte elements was changed in an executable, the second and later
    // launches may fill with the lower byte only (driver 580; docs/adr/0037). So none is made.
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

CUDA_MEMCPY3D copy_parameters(const Piece& to, const Piece& from) noexcept {
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
    for (const Piece* piece : {&node.to, &node.from})
        if (piece->data != nullptr && piece->place.device.is_cuda() &&
            piece->place.kind == MemoryKind::device)
            return gpu(piece->place.device.index(), where);
    return gpu_of(node, of_graph, where);
}

namespace {

/// Returns whether the piece is pinned memory that was allocated or registered with another GPU. In
/// bodies of conditional nodes CUDA refuses memsets of it (invalid value), and copies between two
/// such places end in cudaErrorLaunchFailure (seen with driver 580). Kernels can do both there.
bool is_pinned_with_another(const Piece& piece, const Gpu& g) noexcept {
    if (piece.data == nullptr || piece.place.kind != MemoryKind::pinned) return false;
    int device = g.index;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* answers[] = {&device};
    return api.cuPointerGetAttributes(1, asked, answers,
                                      reinterpret_cast<CUdeviceptr>(piece.data)) == CUDA_SUCCESS &&
           device != g.index;
}

cudaGraphNode_t add_copy_kernel(cudaGraph_t graph, const Nodes& after, const Piece& to,
                                const Piece& from, const Gpu& g, const SourceLocation& where) {
    CopyKernel copy;
    make_copy(copy, to, from, g.limits.processors);
    const cudaKernelNodeParams p = node_parameters(copy);
    cudaGraphNode_t made = nullptr;
    check(api.cudaGraphAddKernelNode(&made, graph, after.data(), after.size(), &p),
          "cudaGraphAddKernelNode (copy)", g.index, where);
    return made;
}

}  // namespace

cudaGraphNode_t add_copy_node(cudaGraph_t graph, bool in_body, const Nodes& after, const Piece& to,
                              const Piece& from, const Gpu& g, const SourceLocation& where) {
    InContext in(g);
    if (in_body && (is_pinned_with_another(to, g) || is_pinned_with_another(from, g)))
        return add_copy_kernel(graph, after, to, from, g, where);
    const CUDA_MEMCPY3D p = copy_parameters(to, from);
    cudaGraphNode_t made = nullptr;
    check(api.cuGraphAddMemcpyNode(&made, graph, after.data(), after.size(), &p, g.context),
          "cuGraphAddMemcpyNode", g.index, where);
    return made;
}

Gpu& gpu_of(const NodeData& node, Gpu& of_graph, const SourceLocation& where) {
    return node.device.is_cuda() ? gpu(node.device.index(), where) : of_graph;
}

cudaGraphNode_t add_empty_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after,
                               const Gpu& of_graph, const SourceLocation& where) {
    cudaGraphNode_t made = nullptr;
    check(api.cudaGraphAddEmptyNode(&made, graph, after.data(), after.size()),
          "cudaGraphAddEmptyNode", of_graph.index, where);
    return made;
}

cudaGraphNode_t add_device_node(cudaGraph_t graph, cudaGraph_t keeper, const NodeData& node,
                                const Before& before, Gpu& of_graph, const SourceLocation& where) {
    const std::vector<cudaGraphNode_t>& after = before.nodes;
    if (is_staged(node)) return add_staged_node(graph, keeper, node, after, of_graph, where);
    if (node.has_no_work()) return add_empty_node(graph, after, of_graph, where);
    cudaGraphNode_t made = nullptr;
    Gpu& g = gpu_of_memory(node, of_graph, where);
    InContext in(g);
    const auto done = [&](cudaError_t code, const char* call) {
        check(code, call, of_graph.index, where);
        return made;
    };
    switch (node.kind) {
    case NodeKind::kernel: {
        if (node.device.is_cpu()) break;
        KernelParameters p(node, where);
        const bool has_options = options_of(node) != LaunchOptions();
        if (p.form.is_loaded) {  // its options were checked when the node was made
            const CUDA_KERNEL_NODE_PARAMS of_driver = kernel_parameters(p.form);
            done(as_runtime(api.cuGraphAddKernelNode(&made, graph, after.data(), after.size(),
                                                     &of_driver)),
                 "cuGraphAddKernelNode");
            if (has_options) set_attributes(made, node, g, where);
            return made;
        }
        if (has_options)
            check_options(Access::state(default_stream(node.device)), p.form.function,
                          p.native.gridDim, p.native.blockDim, p.form.shared_bytes,
                          options_of(node), where);
        if (!before.early.empty()) made = add_dependent_kernel(graph, p, before, g, where);
        else
            done(api.cudaGraphAddKernelNode(&made, graph, after.data(), after.size(), &p.native),
                 "cudaGraphAddKernelNode");
        if (has_options) set_attributes(made, node, g, where);
        return made;
    }
    case NodeKind::copy:
        ensure_access(node, where);
        return add_copy_node(graph, graph != keeper, after, node.to, node.from, g, where);
    case NodeKind::fill: {
        // A body's nodes are not disabled: see add_body().
        const bool in_body = graph != keeper;
        const FillParameters p(node, g,
                               in_body ? is_pinned_with_another(node.to, g) : node.was_disabled);
        if (p.is_kernel)
            return done(
                api.cudaGraphAddKernelNode(&made, graph, after.data(), after.size(), &p.kernel),
                "cudaGraphAddKernelNode (fill)");
        return done(api.cudaGraphAddMemsetNode(&made, graph, after.data(), after.size(), &p.memset),
                    "cudaGraphAddMemsetNode");
    }
    default: break;
    }
    return add_empty_node(graph, after, of_graph, where);
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
