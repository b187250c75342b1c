#include "cuda/graph/native_graph.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/user_object.hpp"
#include "cuda/graph/cached_graphs.hpp"
#include "cuda/graph/destroy.hpp"
#include "cuda/graph/node_parameters.hpp"
#include "cuda/host_sync/signal.hpp"
#include "cuda/memory/kept_graphs.hpp"

namespace heddle::detail::cu {

void DestroyNatively::operator()(cudaGraph_t graph) const noexcept {
    if (is_forked()) return;
    const RelaxedCapture relaxed;
    const InContext in(*gpu);
    std::unique_lock lock(child_graphs_mutex, std::defer_lock);
    if (has_children) lock.lock();
    note_failure(api.cudaGraphDestroy(graph), "cudaGraphDestroy", gpu->index);
}

void DestroyNatively::operator()(cudaGraphExec_t exec) const noexcept {
    if (is_forked()) return;
    const RelaxedCapture relaxed;
    const InContext in(*gpu);
    note_failure(api.cudaGraphExecDestroy(exec), "cudaGraphExecDestroy", gpu->index);
}

void NativeGraph::build(const GraphData& data, Gpu& of_graph, StreamRecord* captured,
                        const SourceLocation& where) {
    gpu = &of_graph;
    gpus = data.gpus | gpu_bit(data.device);
    cudaGraph_t made = nullptr;
    check(api.cudaGraphCreate(&made, 0), "cudaGraphCreate", gpu->index, where);
    graph = {made, DestroyNatively{gpu}};
    nodes.resize(data.nodes.size());
    const NodeAdder adder(graph.get(), graph.get(), *gpu, where);
    const GraphBounds::Building building(captured == nullptr ? &bounds : nullptr);
    for (const auto& node : data.nodes) add(adder, data, *node, captured);
    find_components(data);
    if (bounds != nullptr) {
        std::vector<std::uint32_t> components(nodes.size());
        std::ranges::transform(nodes, components.begin(), &NativeNode::component);
        bounds->set_components(std::move(components));
    }
    for (const NativeNode& node : nodes)
        if (native_type(node, where) != cudaGraphNodeTypeEmpty) ++active;
    is_careful = has_conditions || !hosts.empty() || has_staged_nodes();
}

bool NativeGraph::has_staged_nodes() const noexcept {
    return std::ranges::any_of(nodes, &NativeNode::is_staged);
}

cudaGraphNode_t NativeGraph::add_host(const NodeAdder& adder, const NodeData& node,
                                      StreamRecord* captured, const Nodes& after) {
    Turn turn = turn_of(node);
    auto host = std::make_unique<HostTurns>();
    if (captured != nullptr) {
        host->turns.push_back(turn);
        host->turns.back().stream = captured;
        host->turns.back().at = captured->submissions.load(std::memory_order_acquire) + 1;
    }
    HostTurns* const turns =
        &give_to_graph(graph.get(), std::move(host), gpu->index, adder.where());
    const cudaHostFn_t run = captured != nullptr ? &HostTurns::run_always : &HostTurns::run;
    const cudaGraphNode_t made = adder.add(after, {run, turns}, "cudaGraphAddNode (host)");
    hosts.push_back({node.index, turns, std::move(turn)});
    return made;
}

/// Adds a node that records an event, or waits for one.
cudaGraphNode_t NativeGraph::add_event(const NodeAdder& adder, const NodeData& node,
                                       const Nodes& after) {
    if (node.device.is_cpu())
        unsupported_error({"instantiate", adder.where()},
                          "{} uses an event of {}, but the graph runs on a CUDA device: record or "
                          "wait for the event on the stream instead",
                          label_of(node), node.device);
    return adder.add(after, event_parameters(node, adder.where()), "cudaGraphAddNode (event)");
}

void NativeGraph::add(const NodeAdder& adder, const GraphData& data, const NodeData& node,
                      StreamRecord* captured) {
    const Before before(data, node, nodes);
    if (natives != nullptr) natives->begin_node(static_cast<std::uint32_t>(node.index));
    NativeNode& one = nodes[node.index];
    one.is_staged = is_staged(node);
    one.is_disabled = !node.enabled && (one.is_staged || captured != nullptr);
    if (one.is_disabled) {
        one.native = adder.add(before.nodes, {});
        return;
    }
    if (node.event != nullptr) {
        one.event = node.event;
        has_events = true;
    }
    // A host node needs no further order: the node runs on one thread, and the driver keeps the
    // graph's order.
    if (is_host(node)) {
        one.native = add_host(adder, node, captured, before.nodes);
    } else if (node.kind == NodeKind::other) {
        const auto child = static_cast<cudaGraph_t>(node.foreign.get());
        is_reusable = false;
        graph.get_deleter().has_children = true;
        const std::lock_guard lock(child_graphs_mutex);
        one.native = adder.add(before.nodes, NodeParameters::child_graph(child),
                               "cudaGraphAddNode (child graph)");
    } else if (node.event != nullptr) {
        one.native = add_event(adder, node, before.nodes);
    } else {
        has_conditions |= node.conditional != nullptr;
        one.native = add_work(adder, node, before);
        // CUDA cannot disable an empty node.
        one.is_disabled = node.kind != NodeKind::conditional && node.has_no_work();
    }
}

void NativeGraph::find_components(const GraphData& data) {
    std::vector<std::uint32_t> root(data.nodes.size());
    std::iota(root.begin(), root.end(), 0u);
    const auto root_of = [&](std::uint32_t node) {
        while (root[node] != node) node = root[node] = root[root[node]];
        return node;
    };
    for (std::uint32_t i = 0; i < root.size(); ++i)
        for (const std::uint32_t before : data.dependencies[i]) {
            const std::uint32_t one = root_of(before), other = root_of(i);
            root[std::max(one, other)] = std::min(one, other);
        }
    component_count = 0;
    for (std::uint32_t i = 0; i < root.size(); ++i)
        nodes[i].component = root_of(i) == i ? static_cast<std::uint32_t>(component_count++)
                                             : nodes[root_of(i)].component;
}

/// Reuses a cached executable of the same shape, if there is one. The executable then shares the
/// ownership of the new graph's host nodes. Later changes refer to the nodes of the graph from
/// which the executable was instantiated.
bool NativeGraph::take_over(const SourceLocation& where) {
    std::unique_ptr<Doomed> cached = take_cached(shape);
    if (cached == nullptr) return false;
    NativeGraph& old = cached->native;
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t code = api.cudaGraphExecUpdate(old.exec.get(), graph.get(), &info);
    if (code != cudaSuccess) {
        old.shape = 0;
        cache_graph(std::move(cached));
        if (is_sticky(code)) check(code, "cudaGraphExecUpdate", gpu->index, where);
        cudaGetLastError();
        return false;
    }
    exec = std::move(old.exec);
    std::swap(graph, old.graph);
    const std::size_t count = std::min(nodes.size(), old.nodes.size());
    for (std::size_t i = 0; i < count; ++i) nodes[i].native = old.nodes[i].native;
    host_graph = std::move(old.host_graph);
    host_graph.set_used(true);
    destroy_natively(*cached);  // destroys only the new graph
    return true;
}

void NativeGraph::instantiate(const GraphData& data, const SourceLocation& where) {
    if (has_conditions && natives == nullptr) {
        shape = shape_of(data);
        if (take_over(where)) return;
    }
    if (!hosts.empty() || has_staged_nodes()) host_graph = HostGraph(data, where);
    const unsigned long long flags =
        has_priorities(data) ? cudaGraphInstantiateFlagUseNodePriority : 0;
    cudaGraphExec_t made = nullptr;
    cudaError_t code = api.cudaGraphInstantiate(&made, graph.get(), flags);
    if (code == cudaErrorMemoryAllocation && destroy_kept_graphs(gpu->index)) {
        cudaGetLastError();
        code = api.cudaGraphInstantiate(&made, graph.get(), flags);
    }
    check(code, "cudaGraphInstantiate", gpu->index, where);
    exec = {made, DestroyNatively{gpu}};
}

void NativeGraph::push_turns(StreamRecord& stream,
                             std::span<const std::shared_ptr<WorkOutcome>> outcomes) {
    const std::uint64_t at = stream.submissions.load(std::memory_order_acquire) + 1;
    std::size_t pushed = 0;
    try {
        for (HostNode& host : hosts) {
            host.next.stream = &stream;
            host.next.at = at;
            host.next.outcome = outcomes.empty() ? nullptr : outcomes[nodes[host.node].component];
            const std::lock_guard lock(host.host->mutex);
            host.host->turns.push_back(host.next);
            ++pushed;
        }
    } catch (...) {
        pop_turns(pushed);
        throw;
    }
}

void NativeGraph::pop_turns(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const HostNode& node = hosts[i];
        const std::lock_guard lock(node.host->mutex);
        std::deque<Turn>& turns = node.host->turns;
        if (!turns.empty() && turns.back().at == node.next.at &&
            turns.back().stream == node.next.stream)
            turns.pop_back();
    }
}

}  // namespace heddle::detail::cu
