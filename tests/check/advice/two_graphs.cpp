// Two graphs on two streams.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream a({.name = "a"}), b({.name = "b"});
    Array<int> x = zeros<int>(a, 1000);
    synchronize();
    Graph one = fill_node(x, 1).build(), other = fill_node(x, 2).build();
    one.launch(a);
    other.launch(b);
    a.synchronize();
    b.synchronize();
}
