// The accesses of a graph launch, in parts.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "check/predecessors.hpp"
#include "check/shape.hpp"

namespace heddle::detail {

namespace {

/// Merges accesses of the same kind that overlap or touch. Leaves strided accesses as they are.
std::vector<CheckAccess> merged(std::vector<CheckAccess> all) {
    const auto rank = [](const CheckAccess& one) {
        const bool is_write = one.mode == AccessMode::write || one.mode == AccessMode::read_write;
        return is_write ? 0 : one.mode == AccessMode::concurrent ? 1 : 2;
    };
    std::erase_if(all, [](const CheckAccess& one) { return one.bytes == 0; });
    const auto place = [&](const CheckAccess& one) {
        return std::tuple(one.is_guess, rank(one), one.is_strided(), one.allocation, one.address());
    };
    std::stable_sort(all.begin(), all.end(), [&](const CheckAccess& a, const CheckAccess& b) {
        return place(a) < place(b);
    });
    std::vector<CheckAccess> kept;
    for (const CheckAccess& one : all) {
        CheckAccess* const last = kept.empty() ? nullptr : &kept.back();
        const bool joins = last != nullptr && !one.is_strided() && !last->is_strided() &&
                           rank(*last) == rank(one) && last->allocation == one.allocation &&
                           last->is_guess == one.is_guess && one.address() <= last->end();
        if (!joins) {
            kept.push_back(one);
            continue;
        }
        static_cast<MemoryRange&>(*last) =
            between(last->address(), std::max(last->end(), one.end()));
        last->argument = -1;
    }
    return kept;
}

using Events = std::set<std::uint64_t>;

/// For each node: the events of the wait nodes before it, and of the record nodes after it.
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

ShapeUse use_of(const CheckShape& shape) {
    // Sorted by a key that respects the edges: compared with its successors, a node has fewer waits
    // before it, or more records after it, or an equal key.
    using Key = std::tuple<std::size_t, std::ptrdiff_t, Events, Events>;
    std::map<Key, std::vector<CheckAccess>> parts;
    const NodeTies ties = has_events(shape) ? ties_of(shape) : NodeTies{};
    ShapeUse use;
    for (std::size_t i = 0; i < shape.nodes.size(); ++i) {
        const CheckNode& node = shape.nodes[i];
        use.is_known = use.is_known && node.accesses_known;
        use.may_signal = use.may_signal || node.may_signal;
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
    std::map<std::uint64_t, SiteId> wait_sites;
    for (const CheckNode& node : shape.nodes)
        if (node.event != 0 && node.kind == OpKind::wait) wait_sites[node.event] = node.site;
    for (auto& [key, accesses] : parts) {
        const auto& [waits_before, records_after, waits, records] = key;
        std::vector<EventWait> waited;
        for (const std::uint64_t event : waits) waited.push_back({event, wait_sites[event]});
        use.parts.push_back(
            {std::move(waited), {records.begin(), records.end()}, merged(std::move(accesses))});
    }
    return use;
}

}  // namespace heddle::detail
