// The public classes GraphNode and Graph: launching, changing and inspecting graphs.
#include <algorithm>
#include <mutex>
#include <optional>

#include <heddle/graph/graph.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/detail/host_op.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/base/report.hpp"
#include "core/graph/build.hpp"
#include "core/graph/conditional_nodes.hpp"
#include "core/graph/launch.hpp"
#include "core/graph/memory_use.hpp"
#include "core/graph/shape.hpp"
#include "core/launch/launch.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/function_mark.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/submit.hpp"
#include "core/stream/usable.hpp"

namespace heddle {

using detail::GraphData;
using detail::NodeData;
using detail::StreamRecord;

namespace {

void instantiate_now(GraphData& graph, const SourceLocation& where) {
    if (graph.exec == nullptr) {
        graph.exec = detail::backend_of(graph.device.kind()).instantiate(graph, where);
        graph.changed.clear();
    }
    while (!graph.changed.empty()) {
        const NodeData& node = *graph.nodes[graph.changed.back()];
        bool has_all = false;
        try {
            has_all = graph.exec->update(node, where);
        } catch (...) {
            // After a shortage of memory, the next launch retries. Other failures are thrown only
            // once: later launches run the node's old work.
            if (!detail::is_want_of_memory()) graph.changed.pop_back();
            throw;
        }
        if (has_all) return graph.changed.clear();
        graph.changed.pop_back();
    }
}

void check_stream(const GraphData& graph, StreamRecord& stream, const char* call,
                  const SourceLocation& where) {
    if (stream.device == graph.device) return;
    if (graph.device.is_cpu()) {
        if (stream.device.is_cpu()) return;
        detail::usage_error({call, where, stream},
                            "this graph runs on {}: launch it on a stream of a CPU device",
                            graph.device);
    }
    const auto runs_on = [&](int gpu) { return (graph.gpus >> gpu & 1) != 0; };
    if (stream.device.is_cuda() && runs_on(stream.device.index())) return;
    std::string others;
    for (int gpu = 0; gpu < detail::max_devices; ++gpu)
        if (runs_on(gpu) && gpu != graph.device.index())
            others += " and " + detail::Access::device(DeviceKind::cuda, gpu).name();
    detail::usage_error({call, where, stream},
                        "this graph runs on {}{}: launch it on a stream of {}", graph.device,
                        others, others.empty() ? "that device" : "one of these devices");
}

}  // namespace

const char* to_string(NodeKind kind) noexcept {
    switch (kind) {
    case NodeKind::kernel: return "kernel";
    case NodeKind::copy: return "copy";
    case NodeKind::fill: return "fill";
    case NodeKind::host_function: return "host function";
    case NodeKind::empty: return "empty node";
    case NodeKind::record_event: return "event record";
    case NodeKind::wait_event: return "event wait";
    case NodeKind::child_graph: return "child graph";
    case NodeKind::conditional: return "conditional";
    case NodeKind::allocate: return "allocation";
    case NodeKind::free: return "free";
    case NodeKind::other: return "node";
    }
    return "?";
}

// Nodes -------------------------------------------------------------------------------------------

NodeData& GraphNode::data() const try {
    if (data_ == nullptr)
        detail::usage_error(
            {"GraphNode", {}},
            "this GraphNode or PreparedLaunch is empty (moved from, or default-constructed): use "
            "the object that it was moved to, or make a new one");
    return *data_;
} catch (...) {
    detail::rethrow_as_error("GraphNode", {});
}
NodeKind GraphNode::kind() const { return data().kind; }
std::string GraphNode::name() const try { return data().display_name(); } catch (...) {
    detail::rethrow_as_error("GraphNode::name", {});
}
Device GraphNode::device() const { return data().device; }
bool GraphNode::is_enabled() const { return data().enabled; }
void GraphNode::set_name(std::string name) const {
    NodeData& node = data();
    node.name = std::move(name);
    if (node.graph != nullptr) node.graph->names.forget();
}

void GraphNode::enable(bool on, Where where) try {
    NodeData& node = data();
    if (node.kind != NodeKind::kernel && node.kind != NodeKind::copy && node.kind != NodeKind::fill)
        detail::usage_error({"enable", where},
                            "{} cannot be disabled: disable kernels, copies and fills only",
                            label_of(node));
    if (node.enabled == on) return;
    if (node.graph != nullptr) node.graph->expect_changes(1);
    node.set_enabled(on);
    if (node.graph != nullptr) node.graph->note_change(node);
} catch (...) {
    detail::rethrow_as_error("enable", where);
}

void GraphNode::add_dependency(const GraphNode& first, const SourceLocation& where) const try {
    NodeData& node = data();
    if (node.graph != nullptr)
        detail::usage_error({"after", where},
                            "{} is already in a graph, so its dependencies are fixed: set the "
                            "dependencies before build()",
                            detail::label_with_place(node));
    (void)first.data();
    node.after.push_back(first.data_);
    std::erase(node.primaries, first.data_.get());
} catch (...) {
    detail::rethrow_as_error("after", where);
}

Graph GraphNode::build(Where where) const { return heddle::build({*this}, where); }

Graph build(std::initializer_list<GraphNode> ends, Where where) try {
    std::vector<std::shared_ptr<NodeData>> nodes;
    for (const GraphNode& end : ends) {
        nodes.push_back(detail::Access::shared(end));
    }
    return detail::Access::make<Graph>(detail::build_graph(nodes, where));
} catch (...) {
    detail::rethrow_as_error("build", where);
}

// Graphs ------------------------------------------------------------------------------------------

namespace detail {
std::uint32_t NodeNames::find(const std::vector<std::shared_ptr<NodeData>>& nodes,
                              const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (!known_) {
        all_.clear();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto [found, is_new] =
                all_.try_emplace(nodes[i]->display_name(), static_cast<std::uint32_t>(i));
            if (!is_new) found->second = several;
        }
        known_ = true;
    }
    const auto found = all_.find(name);
    return found != all_.end() ? found->second : none;
}

void NodeNames::forget() noexcept {
    const std::lock_guard lock(mutex_);
    known_ = false;
}

GraphData::~GraphData() {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i]->graph = nullptr;
        if (nodes[i].use_count() == 1) continue;
        // The user still has this node, and may build another graph with it. So the node's edges
        // are restored, without an allocation: the vector has kept its capacity.
        for (const std::uint32_t first : dependencies[i]) nodes[i]->after.push_back(nodes[first]);
    }
}

void GraphData::expect_changes(std::size_t count) {
    const std::size_t room = changed.size() + count;
    if (room > changed.capacity()) changed.reserve(std::max(room, 2 * changed.capacity()));
}

void GraphData::note_change(NodeData& node, bool uses_other_memory) noexcept {
    shape = nullptr;
    if (uses_other_memory) blocks_known = false;
    if (exec != nullptr) changed.push_back(static_cast<std::uint32_t>(node.index));
}
}  // namespace detail

Graph::Graph() noexcept = default;
Graph::Graph(std::unique_ptr<GraphData> data) noexcept : data_(std::move(data)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;
void Graph::reset() noexcept { data_.reset(); }

GraphData& Graph::data(Where where) const try {
    if (data_ == nullptr)
        detail::usage_error({"Graph", where},
                            "this graph is empty (moved from, reset or default-constructed): use a "
                            "graph that build() or a capture returned");
    return *data_;
} catch (...) {
    detail::rethrow_as_error("Graph", where);
}

Device Graph::device(Where where) const { return data(where).device; }
std::size_t Graph::size(Where where) const { return data(where).nodes.size(); }
bool Graph::is_instantiated(Where where) const { return data(where).exec != nullptr; }

void Graph::instantiate(Where where) try { instantiate_now(data(where), where); } catch (...) {
    detail::rethrow_as_error("instantiate", where);
}

void Graph::launch(Where where) { launch(current_stream(data(where).device), where); }
void launch(Device device, Graph& graph, Where where) {
    graph.launch(current_stream(device), where);
}

void Graph::launch(StreamRef ref, Where where) try {
    const detail::CallMark mark("Graph::launch", where);
    GraphData& graph = data(where);
    StreamRecord& stream = detail::record_of(ref);
    check_stream(graph, stream, "launch", where);
    detail::check_not_lost(stream, "launch", where);
    check_events(graph, where);
    if (!graph.blocks_known) find_blocks(graph);
    for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
        detail::Block* const block = graph.blocks[i];
        if (!block->alive.load(std::memory_order_relaxed) ||
            block->serial.load(std::memory_order_relaxed) != graph.serials[i]) [[unlikely]]
            throw_dead_array(graph, block, where);
    }
    // Clones share the memory of memory nodes, so their launches must not overlap. The lock is held
    // from the wait for that memory's users until the graph is launched.
    std::unique_lock<detail::SpinLock> one_at_a_time;
    std::optional<detail::FunctionMark> functions;
    const detail::Operation operation{OpKind::graph_launch, "launch", "graph", where};
    const detail::Submitted submitted = detail::submit(
        stream, operation, graph.blocks, [&] { return detail::record_graph(stream, graph, where); },
        [&] {
            if (graph.exec == nullptr || !graph.changed.empty()) instantiate_now(graph, where);
            if (!graph.owned.empty()) one_at_a_time = std::unique_lock(detail::graph_memory_lock());
            for (const detail::Block* block : graph.owned)
                detail::wait_for_users(stream, *block, WaitReason::graph, where);
            functions.emplace();
            graph.exec->launch(stream, where);
        },
        [&](OpInfo& op, auto&& tell) {
            op.shape = shape_of(graph);
            tell();
        });
    if (submitted == detail::Submitted::dropped) return complete_dropped(graph, stream, where);
    if (submitted == detail::Submitted::recorded) return;
    functions.reset();
    if (one_at_a_time) one_at_a_time.unlock();
    const std::uint64_t submissions = stream.submissions.load(std::memory_order_acquire);
    for (const NodeData* node : graph.records) {
        detail::note_record(*node->event, stream, submissions, 0, true);
        note_point(*node->event, stream);
    }
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

void Graph::upload(StreamRef ref, Where where) try {
    GraphData& graph = data(where);
    StreamRecord& stream = detail::record_of(ref);
    check_stream(graph, stream, "upload", where);
    detail::leave_to_host(stream, "upload", where);
    if (detail::admit(stream, "upload", detail::no_uses, where) == detail::Admission::dropped)
        return;
    instantiate_now(graph, where);
    graph.exec->upload(stream, where);
} catch (...) {
    detail::rethrow_as_error("upload", where);
}

Graph Graph::clone(Where where) const try {
    return Graph(detail::clone_graph(data(where)));
} catch (...) {
    detail::rethrow_as_error("clone", where);
}

void Graph::update(const Graph& other, Where where) try {
    GraphData& mine = data(where);
    const GraphData& theirs = other.data(where);
    const std::string why = detail::difference_of(mine, theirs);
    if (!why.empty()) detail::usage_error({"update", where}, "{}", why);
    std::vector<NodeData> copies;
    copies.reserve(theirs.nodes.size());
    for (const auto& node : theirs.nodes) {
        copies.push_back(*node);
        if (node->conditional != nullptr)
            copies.back().conditional = clone_conditional(*node->conditional);
    }
    mine.expect_changes(copies.size());
    // From here on, changing the nodes cannot fail.
    for (std::size_t i = 0; i < mine.nodes.size(); ++i) {
        NodeData &to = *mine.nodes[i], &from = copies[i];
        to.work = std::move(from.work);
        to.to = from.to;
        to.from = from.from;
        to.value = std::move(from.value);
        to.set_enabled(from.enabled);
        to.priority = from.priority;
        to.owned = std::move(from.owned);
        to.declared = std::move(from.declared);
        to.foreign = std::move(from.foreign);
        if (from.conditional != nullptr) to.conditional = std::move(from.conditional);
        mine.note_change(to);
    }
    if (mine.exec != nullptr) instantiate_now(mine, where);
} catch (...) {
    detail::rethrow_as_error("update", where);
}

std::size_t Graph::edge_count(Where where) const {
    std::size_t edges = 0;
    for (const auto& first : data(where).dependencies) edges += first.size();
    return edges;
}

std::vector<NodeInfo> Graph::nodes(Where where) const try {
    std::vector<NodeInfo> all;
    const GraphData& graph = data(where);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const NodeData& node = *graph.nodes[i];
        all.push_back({i,
                       node.kind,
                       node.display_name(),
                       node.device,
                       node.enabled,
                       {graph.dependencies[i].begin(), graph.dependencies[i].end()},
                       node.priority,
                       {}});
        for (const std::uint32_t first : graph.dependencies[i])
            if (node.is_dependent_on(*graph.nodes[first])) all.back().dependent_on.push_back(first);
    }
    return all;
} catch (...) {
    detail::rethrow_as_error("nodes", where);
}

GraphNode Graph::node(std::string_view name, Where where) const try {
    const detail::GraphData& graph = data(where);
    const std::uint32_t found = graph.names.find(graph.nodes, std::string(name));
    if (found == detail::NodeNames::several)
        detail::usage_error({"node", where},
                            "several nodes are named '{}': set unique names with name(), or use "
                            "the GraphNode from which the graph was built",
                            name);
    if (found == detail::NodeNames::none) {
        std::string names;
        std::size_t shown = 0;
        for (const auto& node : graph.nodes) {
            if (shown++ == 8) {
                names += ", ...";
                break;
            }
            names += (names.empty() ? "" : ", ") + node->display_name();
        }
        detail::usage_error({"node", where}, "no node is named '{}': use one of {}", name, names);
    }
    return detail::Access::make<GraphNode>(graph.nodes[found]);
} catch (...) {
    detail::rethrow_as_error("node", where);
}

}  // namespace heddle
