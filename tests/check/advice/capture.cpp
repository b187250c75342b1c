// A stream that took part in a capture is joined only after its data was used.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream s({.name = "s"}), side({.name = "side"});
    Array<int> x = zeros<int>(s, 1000), y = zeros<int>(s, 1000);
    Graph graph = capture(s, [&] {
        side.wait_stream(s);
        fill(side, x, 1);
        copy(s, y, x);
        s.wait_stream(side);
    });
    graph.launch(s);
    s.synchronize();
}
