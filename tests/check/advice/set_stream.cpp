// set_stream() with its wait turned off.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream outer({.name = "outer"}), side({.name = "side"});
    const ScopedStream on(outer);
    Array<int> x = zeros<int>(1000);
    synchronize();
    fill(x, 1);
    set_stream(side, {.wait = false});
    fill(x, 2);
    outer.synchronize();
    side.synchronize();
}
