// A node in a conditional node's body, and a node that is independent of the conditional node.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream s({.name = "s"});
    Array<int> x = zeros<int>(s, 1000), value = full<int>(s, 1, 1);
    const Graph body = fill_node(x, 1).build();
    auto choice = if_node(value, body);
    auto other = fill_node(x, 2);
    Graph graph = build({choice, other});
    graph.launch(s);
    s.synchronize();
}
