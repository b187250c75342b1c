// Two child graphs, without an edge between them.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream s({.name = "s"});
    Array<int> x = zeros<int>(s, 1000), y = zeros<int>(s, 1000);
    const Graph fills = fill_node(x, 1).build();
    const Graph copies = copy_node(y, x).build();
    auto write = child_node(fills).name("write");
    auto read = child_node(copies).name("read");
    Graph graph = build({write, read});
    graph.launch(s);
    s.synchronize();
}
