// A graph waits for an event that was recorded too early.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream load({.name = "load"}), work({.name = "work"});
    Array<int> x = zeros<int>(load, 1000);
    synchronize();
    Event loaded(load.device());
    loaded.record(load);
    auto wait = wait_node(loaded);
    Graph graph = fill_node(x, 2).after(wait).build();
    fill(load, x, 1);
    graph.launch(work);
    load.synchronize();
    work.synchronize();
}
