// Setters of nodes: checks and changes. The node need not belong to a graph yet.
#include <algorithm>
#include <cstring>

#include <heddle/graph/host_node.hpp>
#include <heddle/graph/nodes.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/graph/build.hpp"
#include "core/graph/memory_use.hpp"
#include "core/launch/found_views.hpp"
#include "core/launch/launch.hpp"
#include "core/memory/copy.hpp"
#include "core/stream/registry.hpp"

namespace heddle::detail {

namespace {

/// Runs `change`. If the node's graph is instantiated, the change is recorded for the next launch.
/// If `change` throws, it must not have changed anything.
template <class F> void change(NodeData& node, F&& change) {
    if (node.graph != nullptr) node.graph->expect_changes(1);
    change();
    if (node.graph != nullptr) node.graph->note_change(node);
}

void refuse_pageable(const NodeData& node, const Operand& memory, const char* call,
                     const SourceLocation& where) {
    if (memory.space.kind != MemoryKind::pageable) return;
    usage_error({call, where},
                "{} uses pageable memory, which needs the host during the copy, so a graph cannot "
                "contain it: use pinned()",
                label_of(node));
}

/// Throws UsageError unless a fill's memory is on the node's device or is pinned.
void check_device(const NodeData& node, const Operand& memory, const char* call,
                  const SourceLocation& where) {
    refuse_pageable(node, memory, call, where);
    if (memory.space.kind == MemoryKind::device && memory.space.device != node.device)
        usage_error({call, where},
                    "{} runs on {}, but its memory is on {}: pass memory of the node's device, or "
                    "make a new node",
                    label_of(node), node.device, memory.space.device);
}

/// Returns a Work that only lists the used blocks.
Work use_of(std::initializer_list<Block*> blocks) {
    Work work;
    for (Block* block : blocks)
        if (block != nullptr) work.blocks.push_back(block);
    note_serials(work);
    return work;
}
void take_blocks(NodeData& node, Work& use) noexcept {
    node.work.blocks = std::move(use.blocks);
    node.work.serials = std::move(use.serials);
}

}  // namespace

void throw_moved_prepared(const char* call, const SourceLocation& where) {
    throw_moved_from({call, where}, "PreparedLaunch");
}

StreamState& any_stream(Device device) try {
    return Access::state(default_stream(device));
} catch (...) {
    detail::rethrow_as_error("default_stream", {});
}

std::shared_ptr<NodeData> new_node(NodeKind kind, Device device, Where where) try {
    auto node = std::make_shared<NodeData>();
    node->kind = kind;
    node->device = device;
    node->where = where;
    return node;
} catch (...) {
    detail::rethrow_as_error("node", where);
}

const GraphNode& check_kind(const GraphNode& node, NodeKind kind, const SourceLocation& where) try {
    const NodeData& data = Access::data(node);
    if (data.kind != kind)
        usage_error({"GraphNode", where},
                    "{} is not a {} node: use the class for its kind, for example CopyNode",
                    label_of(data), to_string(kind));
    return node;
} catch (...) {
    detail::rethrow_as_error("GraphNode", where);
}

namespace {
/// Throws UsageError because the node has another kernel or number of dimensions than `asked`.
[[noreturn]] void throw_other_kernel(const NodeData& node, const AskedKernel& asked,
                                     const SourceLocation& where) {
    const ErrorSite site("KernelNode", where);
    const WorkType& type = *node.work.type;
    const std::string has = kernel_name(name_of_kernel(type, kernel_of(node.work)));
    const std::string wanted = kernel_name(asked.pretty);
    if (has != wanted)
        usage_error(site, "{} launches {}, not {}: use the node's own kernel type", label_of(node),
                    has, wanted);
    if (type.dimensions != asked.dimensions)
        usage_error(site,
                    "{} launches {} with {} ind{}, not {}: use the node's own number of dimensions",
                    label_of(node), has, type.dimensions, type.dimensions == 1 ? "ex" : "ices",
                    asked.dimensions);
    usage_error(site,
                "{} launches another kernel named {}, because two source files or libraries define "
                "a kernel of that name: rename one of the kernels",
                label_of(node), has);
}
}  // namespace

const void* kernel_of(const GraphNode& node, const AskedKernel& asked, std::size_t* extent,
                      const SourceLocation& where) try {
    const NodeData& data = Access::data(check_kind(node, NodeKind::kernel, where));
    if (data.work.closure == nullptr)
        usage_error({"KernelNode", where},
                    "{} has no arguments yet: set them with args() on the KernelNode that "
                    "kernel_node() returned",
                    label_of(data));
    if (data.work.type->tag != asked.tag) throw_other_kernel(data, asked, where);
    read_extents(data.work, extent);
    return kernel_of(data.work);
} catch (...) {
    detail::rethrow_as_error("KernelNode", where);
}

namespace {
/// Throws Unsupported if the options differ in a way that an instantiated CUDA graph cannot adopt.
/// Such a graph can change only `block` and `shared_bytes`.
void check_options(const NodeData& node, LaunchOptions next, const SourceLocation& where) {
    if (node.graph == nullptr || node.graph->exec == nullptr || node.device.is_cpu()) return;
    next.block = node.work.options.block;
    next.shared_bytes = node.work.options.shared_bytes;
    if (next.priority != LaunchOptions::inherit_priority &&
        clamped_priority(node.device, next.priority) == node.priority)
        next.priority = LaunchOptions::inherit_priority;
    if (next == node.work.options) return;
    unsupported_error({"dim", where, node.device},
                      "{} is in an instantiated graph, where launch options other than block and "
                      "shared_bytes cannot change: build another graph",
                      label_of(node));
}
}  // namespace

namespace {
/// Sets the node's work. The serials of the work's blocks must be up to date.
void give_work(NodeData& node, Work work, const SourceLocation& where) {
    check_options(node, work.options, where);
    change(node, [&] {
        node.work = std::move(work);
        take_priority(node);
    });
}
}  // namespace

namespace {
/// Returns the work for a call of a kernel. The call must have been checked.
Work work_of(const LaunchCall& call) {
    Work work;
    work.type = &call.type;
    work.closure = copy_closure(call.type, call.closure);
    work.count = call.count;
    work.options = call.how.options;
    for (const MemoryArgument& one : call.memory)
        if (one.block != nullptr) work.blocks.push_back(one.block);
    if (is_observed()) {
        work.accesses = accesses_of(call.memory);
        work.accesses_known = true;
    }
    note_serials(work);
    return work;
}
}  // namespace

void set_host_function(NodeData& node, const WorkType& type, void* self,
                       std::span<const MemoryArgument> declared, const SourceLocation& where) try {
    const HostMemory used(type, self, declared);
    const std::span<const MemoryArgument> memory = used.all();
    Work work;
    work.type = &type;
    work.closure = moved_closure(type, self);
    for (const MemoryArgument& one : memory) {
        if (one.block == nullptr) continue;
        check_alive(one, "host_node", where);
        work.blocks.push_back(one.block);
    }
    note_serials(work);
    if (is_observed()) work.accesses = accesses_of(memory);
    // The function has no accesses besides those to `memory`.
    work.accesses_known = memory.empty() || is_observed();
    give_work(node, std::move(work), where);
} catch (...) {
    detail::rethrow_as_error("host_node", where);
}

void set_kernel(NodeData& node, const LaunchCall& call) try {
    check_launch(any_stream(node.device), call, "args");
    give_work(node, work_of(call), call.where);
} catch (...) {
    detail::rethrow_as_error("args", call.where);
}

namespace {
/// Changes an argument in the node's closure, if the node is its only owner and uses the same
/// memory as before. Returns false, and changes nothing, if that cannot be done. On CPU devices,
/// launches may still read the closure.
bool change_in_place(NodeData& node, const LaunchCall& call, std::int8_t argument) {
    Work& work = node.work;
    const OpType& op = *call.type.op;
    const bool is_plain = op.move == nullptr && op.destroy == nullptr && call.type.copy != nullptr;
    if (!node.device.is_cuda() || !is_plain || work.type != &call.type ||
        work.closure.use_count() != 1 || work.accesses_known || is_observed())
        return false;
    std::size_t known = 0;
    for (const MemoryArgument& one : call.memory) {
        if (one.block == nullptr) continue;
        if (known == work.blocks.size() || work.blocks[known] != one.block ||
            (one.argument == argument &&
             work.serials[known] != one.block->serial.load(std::memory_order_relaxed)))
            return false;
        ++known;
    }
    if (known != work.blocks.size()) return false;
    check_options(node, call.how.options, call.where);
    if (node.graph != nullptr) node.graph->expect_changes(1);
    std::memset(work.closure.get(), 0, op.size);
    call.type.copy(call.closure, work.closure.get());
    work.count = call.count;
    work.options = call.how.options;
    take_priority(node);
    if (node.graph != nullptr) node.graph->note_change(node, false);
    return true;
}
}  // namespace

void change_kernel(NodeData& node, const LaunchCall& call, std::int8_t argument) try {
    if (change_in_place(node, call, argument)) return;
    Work work = work_of(call);
    // The blocks are in the order of the arguments; those of the kernel itself are last. So the
    // blocks of the changed argument, if any, are consecutive. The new argument may have another
    // number of blocks.
    std::size_t before = 0, behind = 0;
    for (const MemoryArgument& one : call.memory) {
        if (one.block == nullptr || one.argument == argument) continue;
        const bool is_behind = one.argument > argument || one.argument < 0;
        ++(is_behind ? behind : before);
    }
    std::copy_n(node.work.serials.begin(), before, work.serials.begin());
    std::copy_n(node.work.serials.rbegin(), behind, work.serials.rbegin());
    give_work(node, std::move(work), call.where);
} catch (...) {
    detail::rethrow_as_error("args", call.where);
}

namespace {
/// Replaces the closure by one with another shape.
void set_shape(NodeData& node, SharedClosure closure, std::size_t count,
               const LaunchOptions& options, const SourceLocation& where) {
    check_options(node, options, where);
    change(node, [&] {
        node.work.closure = std::move(closure);
        node.work.count = count;
        node.work.options = options;
        take_priority(node);
    });
}
}  // namespace

void set_extents(NodeData& node, const std::size_t* extent, std::size_t dimensions,
                 const PassedOptions& how, const SourceLocation& where) try {
    const std::size_t count = count_of(extent, dimensions, where);
    if (node.work.closure != nullptr)
        set_shape(node, resized_closure(node.work, extent), count, how.options, where);
} catch (...) {
    detail::rethrow_as_error("dim", where);
}

void check_grid(Device device, const WorkType& type, void* kernel, const LaunchGrid& grid) try {
    check_grid(any_stream(device), type, {kernel, grid.grid, grid.block, grid.shared_bytes},
               grid.how, grid.where);
} catch (...) {
    detail::rethrow_as_error("kernel_node", grid.where);
}

void set_grid(NodeData& node, const LaunchGrid& grid) try {
    if (node.work.closure == nullptr) return;
    set_shape(node, resized_closure(node.work, grid), 1, grid.how.options, grid.where);
} catch (...) {
    detail::rethrow_as_error("grid", grid.where);
}

Device device_of(const Region& to, const Region* from, const SourceLocation& where) try {
    const char* const call = from != nullptr ? "copy_node" : "fill_node";
    const MemorySpace there = located(to, call, where).space;
    if (there.kind == MemoryKind::device && there.device.is_cuda()) return there.device;
    if (from == nullptr) return there.kind == MemoryKind::device ? there.device : current_device();
    const MemorySpace here = located(*from, call, where).space;
    if (here.kind == MemoryKind::device && here.device.is_cuda()) return here.device;
    if (there.kind == MemoryKind::device) return there.device;
    return here.kind == MemoryKind::device ? here.device : current_device();
} catch (...) {
    detail::rethrow_as_error("node", where);
}

void set_copy(NodeData& node, const Region& to_region, const Region& from_region,
              const SourceLocation& where) try {
    const Operand to = located(to_region, "copy_node", where),
                  from = located(from_region, "copy_node", where);
    const MemorySpace &there = to.space, &here = from.space;
    if (!check_regions(to_region, from_region, where)) {
        Work nothing;
        return change(node, [&] {
            node.to = node.from = Operand{};
            take_blocks(node, nothing);
        });
    }
    refuse_pageable(node, to, "copy_node", where);
    refuse_pageable(node, from, "copy_node", where);
    const bool touches = (there.kind == MemoryKind::device && there.device == node.device) ||
                         (here.kind == MemoryKind::device && here.device == node.device) ||
                         (there.kind == MemoryKind::pinned && here.kind == MemoryKind::pinned);
    if (!touches)
        usage_error({"copy_node", where},
                    "{} runs on {}, but none of its memory is on that device: make a new node",
                    label_of(node), node.device);
    if (node.device.is_cuda() != (there.device.is_cuda() || here.device.is_cuda()) &&
        !(there.kind == MemoryKind::pinned && here.kind == MemoryKind::pinned))
        usage_error({"copy_node", where},
                    "{} copies between a CPU device and a CUDA device: use pinned() memory on the "
                    "host's side",
                    label_of(node));
    Work use = use_of({to.owner, from.owner});
    change(node, [&] {
        node.to = to;
        node.from = from;
        take_blocks(node, use);
    });
} catch (...) {
    detail::rethrow_as_error("copy_node", where);
}

void set_fill(NodeData& node, const Region& region, const void* value, std::size_t size,
              const SourceLocation& where) try {
    const Operand to = located(region, "fill_node", where);
    const auto* bytes = static_cast<const std::byte*>(value);
    std::vector<std::byte> kept(bytes, bytes + size);
    if (!check_fill(region, where)) {
        Work nothing;
        return change(node, [&] {
            node.to = Operand{};
            node.value = std::move(kept);
            take_blocks(node, nothing);
        });
    }
    check_device(node, to, "fill_node", where);
    Work use = use_of({to.owner});
    change(node, [&] {
        node.to = to;
        node.value = std::move(kept);
        take_blocks(node, use);
    });
} catch (...) {
    detail::rethrow_as_error("fill_node", where);
}

void set_event(NodeData& node, const Event& event, const SourceLocation& where) try {
    node.event = &Access::state(event, "record_node or wait_node", where);
} catch (...) {
    detail::rethrow_as_error("record_node or wait_node", where);
}

bool read_shape(const NodeData& node, std::size_t* extent, LaunchOptions& options,
                const SourceLocation& where) try {
    if (node.work.closure == nullptr) return false;
    read_extents(node.work, extent);
    options = node.work.options;
    return true;
} catch (...) {
    detail::rethrow_as_error("args", where);
}

void check_dependent(const NodeData& node, const GraphNode& first,
                     const SourceLocation& where) try {
    const NodeData& primary = Access::data(first);
    if (primary.kind != NodeKind::kernel || primary.device != node.device)
        usage_error({"dependent_on", where},
                    "{} cannot depend on {}, which is not a kernel of the same device: use after()",
                    label_of(node), label_of(primary));
} catch (...) {
    detail::rethrow_as_error("dependent_on", where);
}

void make_dependent(NodeData& node, const GraphNode& first, const SourceLocation& where) try {
    if (!node.is_dependent_on(Access::data(first))) node.primaries.push_back(&Access::data(first));
} catch (...) {
    detail::rethrow_as_error("dependent_on", where);
}

void set_priority(NodeData& node, int priority, const SourceLocation& where) try {
    const int wanted = clamped_priority(node.device, priority);
    if (wanted == node.priority) return;
    if (node.graph != nullptr && node.graph->exec != nullptr && node.graph->device.is_cuda())
        unsupported_error({"priority", where, node.device},
                          "{} is in an instantiated CUDA graph, where priorities cannot change: "
                          "set the priority before instantiate(), or in a clone() of the graph",
                          label_of(node));
    change(node, [&] { node.priority = wanted; });
} catch (...) {
    detail::rethrow_as_error("priority", where);
}

void set_child(NodeData& node, const Graph& graph, const SourceLocation& where) try {
    node.child = clone_graph(Access::data(graph, where));
} catch (...) {
    detail::rethrow_as_error("child_node", where);
}

}  // namespace heddle::detail
