// A graph records its event before the work that the event should cover.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream load({.name = "load"}), work({.name = "work"});
    Array<int> x = zeros<int>(load, 1000);
    synchronize();
    Event loaded(load.device());
    auto record = record_node(loaded);
    Graph graph = fill_node(x, 1).after(record).build();
    graph.launch(load);
    work.wait_event(loaded);
    fill(work, x, 2);
    load.synchronize();
    work.synchronize();
}
