// Graphs in DOT, the language of Graphviz.
#include <heddle/graph/graph.hpp>

#include "core/graph/graph.hpp"

namespace heddle {

namespace {

using detail::Conditional;
using detail::ConditionalKind;
using detail::GraphData;
using detail::NodeData;

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

std::string title_of(const Conditional& conditional, std::size_t body) {
    switch (conditional.kind) {
    case ConditionalKind::if_else: return body == 0 ? "then" : "else";
    case ConditionalKind::while_loop: return "while";
    case ConditionalKind::switch_case: return "case " + std::to_string(body);
    }
    return "body";
}

/// Appends the nodes and the edges. A node's name is `prefix` and its index. Each body becomes a
/// cluster, with an edge from the conditional node to the first node of the body.
void write(const GraphData& graph, const std::string& prefix, const std::string& indent,
           std::string& text) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const NodeData& node = *graph.nodes[i];
        const std::string name = prefix + std::to_string(i);
        text += indent + name + " [label=\"" + escaped(node.display_name()) + "\\n" +
                std::string(to_string(node.kind)) + ", " + node.device.name() + "\"" +
                (node.enabled ? "" : ", style=dashed") + "];\n";
        for (const std::uint32_t first : graph.dependencies[i])
            text += indent + prefix + std::to_string(first) + " -> " + name +
                    (node.is_dependent_on(*graph.nodes[first]) ? " [style=dashed];\n" : ";\n");
        if (node.conditional == nullptr) continue;
        for (std::size_t body = 0; body < node.conditional->bodies.size(); ++body) {
            const std::string inner = name + "_" + std::to_string(body);
            text += indent + "subgraph cluster_" + inner + " {\n" + indent + "    label=\"" +
                    escaped(node.display_name()) + ": " + title_of(*node.conditional, body) +
                    "\";\n";
            write(*node.conditional->bodies[body], inner + "_", indent + "    ", text);
            text += indent + "}\n" + indent + name + " -> " + inner + "_0 [style=dotted];\n";
        }
    }
}

}  // namespace

std::string Graph::dot(Where where) const try {
    std::string text = "digraph heddle {\n    node [shape=box];\n";
    write(data(where), "n", "    ", text);
    return text + "}\n";
} catch (...) {
    detail::rethrow_as_error("dot", where);
}

}  // namespace heddle
