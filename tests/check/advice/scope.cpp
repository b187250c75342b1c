// A scope with its waits turned off.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream outer({.name = "outer"}), side({.name = "side"});
    const ScopedStream on(outer);
    Array<int> x = zeros<int>(1000);
    fill(x, 1);
    {
        const ScopedStream in(side, {.wait_on_enter = false});
        fill(x, 2);
    }
    outer.synchronize();
    side.synchronize();
}
