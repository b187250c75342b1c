// Two nodes without an edge.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream s({.name = "s"});
    Array<int> x = zeros<int>(s, 1000), y = zeros<int>(s, 1000);
    auto sum = copy_node(y, x);
    auto zero = fill_node(x, 1).name("zero");
    Graph graph = build({sum, zero});
    graph.launch(s);
    s.synchronize();
}
