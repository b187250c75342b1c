#include "check/shape.hpp"

#include <algorithm>
#include <map>

#include "check/history.hpp"
#include "check/kinds.hpp"
#include "check/predecessors.hpp"

namespace heddle::detail {

namespace {

/// Divides the nodes into chains. The nodes of a chain are ordered one after another. Each chain
/// has a slot.
class Chains {
public:
    explicit Chains(const CheckShape& shape)
        : predecessors_(shape), epochs_(shape.nodes.size()), clocks_(shape.nodes.size()) {
        for (std::uint32_t i = 0; i < epochs_.size(); ++i) place(i);
    }
    Order order(std::uint32_t node) const {
        return {&clocks_[node], &nothing_, epochs_[node].slot()};
    }
    Epoch epoch(std::uint32_t node) const { return epochs_[node]; }
    std::uint32_t node(Epoch epoch) const { return chains_[epoch.slot()][epoch.position() - 1]; }

private:
    void place(std::uint32_t node) {
        Slot slot = 0;
        predecessors_.for_each(node, [&](std::uint32_t before) {
            const Epoch epoch = epochs_[before];
            clocks_[node].join(clocks_[before], epoch, nothing_);
            if (chains_[epoch.slot()].back() == before) slot = epoch.slot();
        });
        if (slot == 0) {
            slot = static_cast<Slot>(chains_.size());
            chains_.emplace_back();
        }
        chains_[slot].push_back(node);
        epochs_[node] = {slot, chains_[slot].size()};
    }

    Predecessors predecessors_;
    std::vector<std::vector<std::uint32_t>> chains_{{CheckNode::no_node}};  // slot 0 is unused
    std::vector<Epoch> epochs_;
    std::vector<Clock> clocks_;
    HostFloor nothing_;
};

/// Returns whether at most one of the two nodes runs.
bool are_exclusive(const CheckShape& shape, std::uint32_t a, std::uint32_t b) {
    const auto& nodes = shape.nodes;
    std::map<std::uint32_t, std::uint32_t> bodies;  // by conditional node: the body that contains a
    for (; nodes[a].inside < a; a = nodes[a].inside) bodies[nodes[a].inside] = nodes[a].alternative;
    for (; nodes[b].inside < b; b = nodes[b].inside) {
        const auto found = bodies.find(nodes[b].inside);
        if (found != bodies.end()) return found->second != nodes[b].alternative;
    }
    return false;
}

/// Returns the nodes that contain the node, outermost first, and the node itself.
std::vector<std::uint32_t> path_to(const CheckShape& shape, std::uint32_t node) {
    std::vector<std::uint32_t> path;
    while (node < shape.nodes.size()) {
        path.insert(path.begin(), node);
        const CheckNode& one = shape.nodes[node];
        node = one.child != CheckNode::no_node ? one.child : one.inside;
    }
    return path;
}

FindingSide side_of(const CheckShape& shape, std::uint32_t node, const Mark& mark) {
    return {
        .site = shape.nodes[node].site, .mode = mark.mode, .argument = mark.argument, .node = node};
}

class ShapeCheck {
public:
    ShapeCheck(const CheckShape& shape, std::vector<Finding>& to)
        : shape_(shape), chains_(shape), to_(to), first_(to.size()) {}

    void run() {
        for (std::uint32_t i = 0; i < shape_.nodes.size(); ++i)
            for (const CheckAccess& access : shape_.nodes[i].accesses)
                if (!access.is_guess) add(i, access);
    }

private:
    void add(std::uint32_t node, const CheckAccess& access) {
        const OpKind kind = shape_.nodes[node].kind;
        const Mark mark{.epoch = chains_.epoch(node),
                        .site = shape_.nodes[node].site,
                        .mode = access.mode,
                        .argument = access.argument,
                        .is_free = kind == OpKind::free};
        conflicts_.clear();
        histories_[access.allocation].add(access, mark, chains_.order(node), conflicts_);
        for (const Conflict& one : conflicts_) tell(node, access, mark, one);
    }

    void tell(std::uint32_t second, const CheckAccess& access, const Mark& mark,
              const Conflict& conflict) {
        const std::uint32_t first = chains_.node(conflict.first.epoch);
        if (first == second || are_exclusive(shape_, first, second)) return;
        Finding finding{.kind = kind_of(conflict, shape_.nodes[first].kind, mark.mode,
                                        shape_.nodes[second].kind),
                        .is_certain = conflict.is_certain,
                        .in_graph = true,
                        .first = side_of(shape_, first, conflict.first),
                        .second = side_of(shape_, second, mark),
                        .begin = conflict.begin,
                        .end = conflict.end,
                        .rows = conflict.rows,
                        .allocation = access.allocation,
                        .element = access.element,
                        .doubt = conflict.is_certain ? Doubt::none : Doubt::many_rows,
                        .shape = shape_.id};
        set_edge(finding, first, second);
        for (std::size_t i = first_; i < to_.size(); ++i) {
            Finding& known = to_[i];
            if (known.first.node != first || known.second.node != second ||
                known.kind != finding.kind || known.end != finding.begin)
                continue;
            known.end = finding.end;
            return;
        }
        to_.push_back(finding);
    }

    /// Records the two nodes between which an edge can be added. An edge can only connect nodes of
    /// one graph. So a node inside a body or a child graph is represented by the outer node that
    /// contains it.
    void set_edge(Finding& finding, std::uint32_t first, std::uint32_t second) const {
        const std::vector<std::uint32_t> a = path_to(shape_, first), b = path_to(shape_, second);
        const auto [of_a, of_b] = std::ranges::mismatch(a, b);
        const auto set = [&](FindingSide& side, std::uint32_t node) {
            side.edge_node = shape_.nodes[node].site;
            side.edge_index = node;
            side.captured_on = shape_.nodes[node].captured_on;
        };
        set(finding.first, of_a != a.end() ? *of_a : first);
        set(finding.second, of_b != b.end() ? *of_b : second);
    }

    const CheckShape& shape_;
    const Chains chains_;
    std::map<std::uint64_t, History> histories_;
    std::vector<Conflict> conflicts_;
    std::vector<Finding>& to_;
    const std::size_t first_;
};

}  // namespace

void check_shape(const CheckShape& shape, std::vector<Finding>& to) { ShapeCheck(shape, to).run(); }

}  // namespace heddle::detail
