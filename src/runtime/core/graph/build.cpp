// Building graphs: topological order, cycles, child graphs, and copies of graphs.
#include <algorithm>
#include <map>
#include <utility>

#include "core/base/errors.hpp"
#include "core/graph/build.hpp"
#include "core/graph/conditional_nodes.hpp"
#include "core/graph/memory_use.hpp"

namespace heddle::detail {

namespace {

using NodeRef = std::shared_ptr<NodeData>;

/// Returns the nodes' labels. Equal labels get numbers: unnamed nodes that were made on one line
/// have the same label.
std::vector<std::string> labels_of(const std::vector<NodeRef>& nodes) {
    std::map<std::string, std::size_t> counts;
    for (const NodeRef& node : nodes) ++counts[label_of(*node)];
    std::map<std::string, std::size_t> numbers;
    std::vector<std::string> labels;
    for (const NodeRef& node : nodes) {
        const std::string label = label_of(*node);
        labels.push_back(counts[label] == 1 ? label : label_of(*node, ++numbers[label]));
    }
    return labels;
}

/// Sorts nodes and all their dependencies topologically. Not recursive, because chains may be long.
class Sorter {
public:
    explicit Sorter(const SourceLocation& where) : where_(where) {}
    ~Sorter() { forget(); }
    Sorter(const Sorter&) = delete;
    Sorter& operator=(const Sorter&) = delete;

    void add(const NodeRef& end) {
        enter(end);
        while (!path_.empty()) {
            Step& step = path_.back();
            const NodeRef& node = *step.node;
            if (step.next < node->after.size()) {
                enter(node->after[step.next++]);
            } else {
                node->visit = Visit::done;
                sorted_.push_back(&node);
                path_.pop_back();
            }
        }
    }
    std::vector<NodeRef> sorted() const {
        std::vector<NodeRef> all;
        all.reserve(sorted_.size());
        for (const NodeRef* node : sorted_) all.push_back(*node);
        return all;
    }

    void forget() noexcept {
        for (const NodeRef* node : sorted_) (*node)->visit = Visit::none;
        for (const Step& step : path_) (*step.node)->visit = Visit::none;
        sorted_.clear();
        path_.clear();
    }

private:
    using Visit = NodeData::Visit;
    struct Step {
        const NodeRef* node;
        std::size_t next = 0;
    };

    void enter(const NodeRef& node) {
        if (node->visit == Visit::done) return;
        if (node->visit == Visit::on_path) refuse_circle(node);
        if (node->graph != nullptr)
            usage_error({"build", where_},
                        "{} is already in another graph: make a new node, or clone() that graph",
                        label_with_place(*node));
        if (node->kind == NodeKind::kernel && node->work.closure == nullptr)
            usage_error({"build", where_}, "{} has no arguments: set them with args()",
                        label_of(*node));
        path_.push_back({&node});
        node->visit = Visit::on_path;
    }

    /// Throws UsageError. Before that, removes the dependencies of the nodes in the cycle:
    /// otherwise the nodes would own each other and never be destroyed.
    [[noreturn]] void refuse_circle(const NodeRef& first) {
        std::vector<NodeRef> circle;
        auto from = std::ranges::find_if(path_, [&](const Step& s) { return *s.node == first; });
        for (; from != path_.end(); ++from) circle.push_back(*from->node);
        forget();  // must be first: the sorter points into dependencies that are cleared below
        const std::vector<std::string> labels = labels_of(circle);
        std::string names;
        for (const std::string& label : labels) names += label + ", after ";
        for (const NodeRef& node : circle) {
            node->after.clear();
            node->primaries.clear();
        }
        if (circle.size() == 1)
            usage_error({"build", where_},
                        "{} depends on itself: copies of a GraphNode refer to the same node, so "
                        "create each node by a separate call",
                        labels.front());
        const bool is_numbered = !std::ranges::equal(labels, circle, {}, {},
                                                     [](const NodeRef& n) { return label_of(*n); });
        usage_error({"build", where_},
                    "the dependencies form a cycle, so remove one of them: {}{}{}", names,
                    labels.front(),
                    is_numbered ? ". Set names with name() to identify the nodes" : "");
    }

    SourceLocation where_;
    std::vector<Step> path_;
    std::vector<const NodeRef*> sorted_;
};

/// Returns the device for these nodes' graph: the device of the first CUDA node, or else of the
/// first node.
Device device_of_all(const std::vector<NodeRef>& nodes, const SourceLocation& where) {
    if (nodes.empty()) usage_error({"build", where}, "no nodes are passed: pass at least one");
    for (const NodeRef& node : nodes)
        if (node->device.is_cuda()) return node->device;
    return nodes.front()->device;
}

/// Checks conditional nodes for this device, including those in child graphs. The latter were
/// checked before, but only for the child graph's own device.
void check_conditionals(const std::vector<NodeRef>& nodes, Device device,
                        const SourceLocation& where) {
    for (const NodeRef& node : nodes) {
        if (node->conditional != nullptr) check_conditional(*node, device, where);
        if (node->child != nullptr) check_conditionals(node->child->nodes, device, where);
    }
}

/// Returns a copy without dependencies. The caller adds the dependencies, which must be copies,
/// too.
NodeRef copy_of(const NodeData& node) {
    auto copy = std::make_shared<NodeData>(node);
    copy->graph = nullptr;
    copy->after.clear();
    copy->primaries.clear();
    if (node.conditional != nullptr) copy->conditional = clone_conditional(*node.conditional);
    return copy;
}

/// Makes the copies refer to each other in the same way as the nodes. `copies[i]` is the copy of
/// node i of the graph.
void keep_ties(const GraphData& graph, const std::vector<NodeRef>& copies) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        for (const NodeData* first : graph.nodes[i]->primaries)
            copies[i]->primaries.push_back(copies[first->index].get());
        if (const NodeData* const child = graph.nodes[i]->child_node)
            copies[i]->child_node = copies[child->index].get();
    }
}

/// Appends copies of a child graph's nodes to `all`. The child graph's own node then does no work,
/// and depends on all of these copies.
void expand_child(const NodeRef& child, std::vector<NodeRef>& all) {
    const GraphData& inner = *child->child;
    std::vector<NodeRef> copies;
    std::vector<bool> is_end(inner.nodes.size(), true);
    for (std::size_t i = 0; i < inner.nodes.size(); ++i) {
        copies.push_back(copy_of(*inner.nodes[i]));
        copies.back()->name = child->display_name() + "/" + inner.nodes[i]->display_name();
        for (const std::uint32_t first : inner.dependencies[i]) {
            copies.back()->after.push_back(copies[first]);
            is_end[first] = false;
        }
        if (inner.dependencies[i].empty()) copies.back()->after = child->after;
    }
    keep_ties(inner, copies);
    for (const NodeRef& copy : copies)
        if (copy->child_node == nullptr) copy->child_node = child.get();
    std::vector<NodeRef> ends;
    for (std::size_t i = 0; i < copies.size(); ++i)
        if (is_end[i]) ends.push_back(copies[i]);
    all.insert(all.end(), copies.begin(), copies.end());
    // The rest cannot fail. If the child graph is empty, the child node keeps its own dependencies.
    if (!copies.empty()) child->after = std::move(ends);
    child->child = nullptr;
}

/// Collects the nodes that record events or wait for them, and moves the lists into a graph.
struct EventNodes {
    std::vector<NodeData*> events;
    std::vector<NodeData*> records;

    void note(NodeData& node) {
        if (node.event == nullptr) return;
        events.push_back(&node);
        if (node.kind == NodeKind::record_event) records.push_back(&node);
    }
    void give(GraphData& graph) noexcept {
        graph.events.swap(events);
        graph.records.swap(records);
    }
};

/// Numbers the nodes and moves them into the graph. The nodes must be in topological order.
void take_nodes(GraphData& graph, std::vector<NodeRef> nodes) {
    std::vector<std::vector<std::uint32_t>> dependencies(nodes.size());
    EventNodes events;
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i]->index = i;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto& own = dependencies[i];
        for (const NodeRef& first : nodes[i]->after)
            own.push_back(static_cast<std::uint32_t>(first->index));
        std::ranges::sort(own);
        own.erase(std::unique(own.begin(), own.end()), own.end());
        events.note(*nodes[i]);
    }
    // The rest cannot fail.
    for (const NodeRef& node : nodes) {
        node->graph = &graph;
        graph.gpus |= gpu_bit(node->device);
        // The edges are now in `dependencies`. ~GraphData() relies on the capacity, which clear()
        // keeps.
        node->after.clear();
    }
    graph.nodes = std::move(nodes);
    graph.dependencies = std::move(dependencies);
    events.give(graph);
}

}  // namespace

std::unique_ptr<GraphData> build_graph(const std::vector<NodeRef>& ends,
                                       const SourceLocation& where) {
    Sorter sorter(where);
    for (const NodeRef& end : ends) sorter.add(end);
    std::vector<NodeRef> sorted = sorter.sorted();
    sorter.forget();  // must be first: the sorter points into the dependencies cleared below
    const Device device = device_of_all(sorted, where);
    return assemble_graph(std::move(sorted), device, where);
}

std::unique_ptr<GraphData> assemble_graph(std::vector<NodeRef> sorted, Device device,
                                          const SourceLocation& where) {
    auto graph = std::make_unique<GraphData>();
    graph->device = device;
    check_conditionals(sorted, device, where);
    std::vector<NodeRef> all;
    all.reserve(sorted.size());
    // For each block that a child graph owns: the last node that uses it.
    std::map<const Block*, NodeRef> last_user;
    for (const NodeRef& node : sorted) {
        if (node->child != nullptr) {
            // Child graphs made from one graph share its memory, so they must run one after the
            // other.
            find_blocks(*node->child);
            for (const Block* block : node->child->owned) {
                NodeRef& last = last_user[block];
                if (last != nullptr && std::ranges::find(node->after, last) == node->after.end())
                    node->after.push_back(last);
                last = node;
            }
            expand_child(node, all);
        }
        all.push_back(node);
    }
    take_nodes(*graph, std::move(all));
    return graph;
}

std::unique_ptr<GraphData> clone_graph(const GraphData& graph) {
    auto clone = std::make_unique<GraphData>();
    clone->device = graph.device;
    std::vector<NodeRef> copies;
    copies.reserve(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        copies.push_back(copy_of(*graph.nodes[i]));
        for (const std::uint32_t first : graph.dependencies[i])
            copies[i]->after.push_back(copies[first]);
    }
    keep_ties(graph, copies);
    take_nodes(*clone, std::move(copies));
    return clone;
}

void append_graph(GraphData& graph, const GraphData& more, const std::vector<std::size_t>& after) {
    graph.shape = nullptr;
    const std::size_t had = graph.nodes.size();
    std::vector<std::uint32_t> first(after.begin(), after.end());
    if (after.empty()) {
        std::vector<bool> is_end(had, true);
        for (const auto& own : graph.dependencies)
            for (const std::uint32_t one : own) is_end[one] = false;
        for (std::size_t i = 0; i < had; ++i)
            if (is_end[i]) first.push_back(static_cast<std::uint32_t>(i));
    }
    std::vector<NodeRef> copies;
    std::vector<std::vector<std::uint32_t>> dependencies;
    EventNodes events{graph.events, graph.records};
    for (std::size_t i = 0; i < more.nodes.size(); ++i) {
        const NodeRef& copy = copies.emplace_back(copy_of(*more.nodes[i]));
        std::vector<std::uint32_t>& own = dependencies.emplace_back();
        for (const std::uint32_t one : more.dependencies[i])
            own.push_back(static_cast<std::uint32_t>(had + one));
        if (own.empty()) own = first;
        copy->after.reserve(own.size());  // ~GraphData() relies on the capacity
        events.note(*copy);
    }
    keep_ties(more, copies);
    graph.nodes.reserve(had + copies.size());
    graph.dependencies.reserve(had + copies.size());
    // The rest cannot fail.
    for (std::size_t i = 0; i < copies.size(); ++i) {
        graph.gpus |= gpu_bit(copies[i]->device);
        copies[i]->graph = &graph;
        copies[i]->index = had + i;
        graph.nodes.push_back(std::move(copies[i]));
        graph.dependencies.push_back(std::move(dependencies[i]));
    }
    events.give(graph);
    graph.blocks_known = false;
    graph.exec = nullptr;
    graph.changed.clear();
}

}  // namespace heddle::detail
