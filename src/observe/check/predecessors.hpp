// The edges of a graph, with the bodies of its conditional nodes.
#pragma once

#include <vector>

#include "check/check_op.hpp"

namespace heddle::detail {

/// Finds the direct predecessors of each node. A successor of a conditional node also has the nodes
/// of the bodies as predecessors.
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

}  // namespace heddle::detail
