// Makes and changes heddle's nodes for random graphs of nodes.
#pragma once

#include "nodes_program.hpp"

#include <string>
#include <vector>

namespace heddle_test::programs::nodes {

inline std::string name_of(int node) { return "n" + std::to_string(node); }

/// Finds a node by name in a graph, its child graphs or its captured graphs. A node's name begins
/// with the names of the nodes around it.
inline GraphNode find(const Graph& graph, int node) {
    const std::string name = name_of(node);
    for (const heddle::NodeInfo& one : graph.nodes())
        if (one.name == name || one.name.ends_with("/" + name)) return graph.node(one.name);
    return graph.node(name);
}

class Builder {
public:
    explicit Builder(const Program& p) : program_(p) {}

    /// Builds the outer graph for a state. Stores the handles of its nodes in `handles`, by id.
    Graph graph(const State& state, std::vector<GraphNode>* handles = nullptr) const {
        return build(0, state, handles);
    }
    /// Changes a node to `spec`. Sets a kernel's extent before its arguments if `extent_first`.
    void change(const GraphNode& node, int id, const Spec& spec, bool extent_first) const;
    void prioritise(const GraphNode& node, int id, int priority) const;

    std::vector<Array<int>> arrays;
    std::vector<Event> events;

private:
    Graph build(int index, const State& state, std::vector<GraphNode>* handles,
                int flag = -1) const;
    GraphNode make(int id, const State& state, const std::vector<GraphNode>& made) const;
    GraphNode make_memory(int id, const Spec& spec, const std::vector<GraphNode>& first) const;
    GraphNode make_condition(int id, const State& state, const std::vector<GraphNode>& first) const;
    View<int> view(int array, std::size_t first, std::size_t count) const;
    View<int> to(const Spec& s) const;
    View<const int> from(const Spec& s) const;

    const Program& program_;
};

}  // namespace heddle_test::programs::nodes
