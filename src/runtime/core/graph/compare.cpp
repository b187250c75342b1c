// Decides whether a graph can be updated to the work of another graph.
#include "core/base/format.hpp"
#include "core/graph/launch.hpp"

namespace heddle::detail {

namespace {

std::string difference_of_bodies(const Conditional& a, const Conditional& b) {
    if (a.kind != b.kind) return "is a conditional node of another kind in the other graph";
    if (a.bodies.size() != b.bodies.size())
        return formatted("has {} bodies, but in the other graph it has {}", a.bodies.size(),
                         b.bodies.size());
    for (std::size_t i = 0; i < a.bodies.size(); ++i) {
        const std::string why = difference_of(*a.bodies[i], *b.bodies[i]);
        if (!why.empty())
            return formatted("has a different body {} in the other graph: {}", i, why);
    }
    return {};
}

/// Returns why node `a` cannot be updated to the work of `b`, or an empty string if it can be.
std::string difference_of_nodes(const NodeData& a, const NodeData& b) {
    if (a.kind != b.kind)
        return formatted("is a {}, but in the other graph it is a {}", to_string(a.kind),
                         to_string(b.kind));
    if (a.device != b.device)
        return formatted("is on {}, but in the other graph it is on {}", a.device, b.device);
    if (a.event != b.event) return "uses another event in the other graph";
    if (a.priority != b.priority && a.device.is_cuda() && a.graph->exec != nullptr)
        return "has another priority in the other graph, and priorities cannot change in an "
               "instantiated CUDA graph";
    if (a.conditional != nullptr) return difference_of_bodies(*a.conditional, *b.conditional);
    return {};
}

}  // namespace

std::string difference_of(const GraphData& mine, const GraphData& theirs) {
    if (mine.nodes.size() != theirs.nodes.size())
        return formatted("this graph has {} nodes, but the other graph has {}", mine.nodes.size(),
                         theirs.nodes.size());
    for (std::size_t i = 0; i < mine.nodes.size(); ++i) {
        std::string why = difference_of_nodes(*mine.nodes[i], *theirs.nodes[i]);
        if (why.empty() && mine.dependencies[i] != theirs.dependencies[i])
            why = "depends on other nodes in the other graph";
        for (const std::uint32_t first : mine.dependencies[i])
            if (why.empty() && mine.nodes[i]->is_dependent_on(*mine.nodes[first]) !=
                                   theirs.nodes[i]->is_dependent_on(*theirs.nodes[first]))
                why = "is a dependent launch in only one of the graphs";
        if (!why.empty())
            return formatted("the graphs differ: {} {}", label_of(*mine.nodes[i]), why);
    }
    return {};
}

}  // namespace heddle::detail
