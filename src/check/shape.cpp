#include "check/shape.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "check/history.hpp"
#include "check/kinds.hpp"

namespace heddle::detail {

namespace {

/// Which nodes come directly before each node: as the edges say, with the bodies of conditional
/// nodes in their places.
class Predecessors {
public:
    explicit Predecessors(const CheckShape& shape) : nodes_(shape.nodes), bodies_(nodes_.size()) {
        for (std::uint32_t i = 0; i < nodes_.size(); ++i)
            if (nodes_[i].inside < i) bodies_[nodes_[i].inside].push_back(i);
    }

    template <class F> void for_each(std::uint32_t node, F&& f) const {
        if (nodes_[node].inside < node) f(nodes_[node].inside);
        for (const std::uint32_t before : nodes_[node].after)
            if (before < node) with_bodies(before, f);
    }

private:
    template <class F> void with_bodies(std::uint32_t node, F&& f) const {
        std::vector<std::uint32_t> left{node};
        while (!left.empty()) {
            const std::uint32_t one = left.back();
            left.pop_back();
            f(one);
            left.insert(left.end(), bodies_[one].begin(), bodies_[one].end());
        }
    }

    const std::vector<CheckNode>& nodes_;
    std::vector<std::vector<std::uint32_t>> bodies_;
};

/// The nodes as chains: the nodes of a chain come one after the other, each chain has a slot.
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
    std::vector<std::vector<std::uint32_t>> chains_{{CheckNode::no_node}};  // slot 0 is none
    std::vector<Epoch> epochs_;
    std::vector<Clock> clocks_;
    HostFloor nothing_;
};

/// Returns whether at most one of the two nodes runs.
bool are_exclusive(const CheckShape& shape, std::uint32_t a, std::uint32_t b) {
    const auto& nodes = shape.nodes;
    std::map<std::uint32_t, std::uint32_t> bodies;  // conditional node: which body holds a
    for (; nodes[a].inside < a; a = nodes[a].inside) bodies[nodes[a].inside] = nodes[a].alternative;
    for (; nodes[b].inside < b; b = nodes[b].inside) {
        const auto found = bodies.find(nodes[b].inside);
        if (found != bodies.end()) return found->second != nodes[b].alternative;
    }
    return false;
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
            for (const CheckAccess& access : shape_.nodes[i].accesses) add(i, access);
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
                        .allocation = access.allocation,
                        .element = access.element,
                        .shape = shape_.id};
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

    const CheckShape& shape_;
    const Chains chains_;
    std::map<std::uint64_t, History> histories_;
    std::vector<Conflict> conflicts_;
    std::vector<Finding>& to_;
    const std::size_t first_;
};

/// Merges accesses of one kind that overlap or touch. Strided ones stay as they are.
std::vector<CheckAccess> merged(std::vector<CheckAccess> all) {
    const auto rank = [](const CheckAccess& one) {
        const bool is_write = one.mode == AccessMode::write || one.mode == AccessMode::read_write;
        return is_write ? 0 : one.mode == AccessMode::concurrent ? 1 : 2;
    };
    std::erase_if(all, [](const CheckAccess& one) { return one.bytes == 0; });
    std::stable_sort(all.begin(), all.end(), [&](const CheckAccess& a, const CheckAccess& b) {
        return std::tuple(rank(a), a.is_strided(), a.allocation, a.data) <
               std::tuple(rank(b), b.is_strided(), b.allocation, b.data);
    });
    std::vector<CheckAccess> kept;
    for (const CheckAccess& one : all) {
        CheckAccess* const last = kept.empty() ? nullptr : &kept.back();
        const bool joins = last != nullptr && !one.is_strided() && !last->is_strided() &&
                           rank(*last) == rank(one) && last->allocation == one.allocation &&
                           one.data <= last->end();
        if (!joins) {
            kept.push_back(one);
            continue;
        }
        const std::uint64_t end = std::max(last->end(), one.end());
        *last = {.data = last->data,
                 .bytes = end - last->data,
                 .allocation = last->allocation,
                 .element = last->element,
                 .mode = last->mode};
    }
    return kept;
}

using Events = std::set<std::uint64_t>;

/// Which wait nodes precede each node, and which record nodes follow it.
struct NodeTies {
    std::vector<Events> waits, records;
};

NodeTies ties_of(const CheckShape& shape) {
    const std::size_t count = shape.nodes.size();
    NodeTies ties{std::vector<Events>(count), std::vector<Events>(count)};
    const Predecessors predecessors(shape);
    for (std::uint32_t i = 0; i < count; ++i) {
        const CheckNode& node = shape.nodes[i];
        if (node.event != 0 && node.kind == OpKind::wait) ties.waits[i].insert(node.event);
        predecessors.for_each(i, [&](std::uint32_t before) {
            ties.waits[i].insert(ties.waits[before].begin(), ties.waits[before].end());
        });
    }
    for (auto i = static_cast<std::uint32_t>(count); i-- > 0;) {
        const CheckNode& node = shape.nodes[i];
        if (node.event != 0 && node.kind == OpKind::record) ties.records[i].insert(node.event);
        predecessors.for_each(i, [&](std::uint32_t before) {
            ties.records[before].insert(ties.records[i].begin(), ties.records[i].end());
        });
    }
    return ties;
}

bool has_events(const CheckShape& shape) {
    return std::any_of(shape.nodes.begin(), shape.nodes.end(),
                       [](const CheckNode& node) { return node.event != 0; });
}

}  // namespace

void check_shape(const CheckShape& shape, std::vector<Finding>& to) { ShapeCheck(shape, to).run(); }

ShapeUse use_of(const CheckShape& shape) {
    // A part that precedes another one has fewer waits before it, or more records after it.
    using Key = std::tuple<std::size_t, std::ptrdiff_t, Events, Events>;
    std::map<Key, std::vector<CheckAccess>> parts;
    const NodeTies ties = has_events(shape) ? ties_of(shape) : NodeTies{};
    ShapeUse use;
    for (std::size_t i = 0; i < shape.nodes.size(); ++i) {
        const CheckNode& node = shape.nodes[i];
        use.is_known = use.is_known && node.accesses_known;
        use.may_signal = use.may_signal || node.kind == OpKind::host_function;
        if (node.event != 0 && node.kind == OpKind::record) use.records.push_back(node.event);
        Key key;
        if (!ties.waits.empty())
            key = {ties.waits[i].size(), -std::ssize(ties.records[i]), ties.waits[i],
                   ties.records[i]};
        std::vector<CheckAccess>& accesses = parts[key];
        for (const CheckAccess& access : node.accesses) {
            use.may_signal = use.may_signal || access.mode == AccessMode::concurrent;
            accesses.push_back(access);
        }
    }
    if (parts.empty()) parts[{}] = {};
    for (auto& [key, accesses] : parts) {
        const auto& [waits_before, records_after, waits, records] = key;
        use.parts.push_back({{waits.begin(), waits.end()},
                             {records.begin(), records.end()},
                             merged(std::move(accesses))});
    }
    return use;
}

}  // namespace heddle::detail
