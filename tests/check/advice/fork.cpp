// Both branches of a fork write one array.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream base({.name = "base"});
    Array<int> x = zeros<int>(base, 1000), y = zeros<int>(base, 1000);
    fork_join(
        base, [&] { fill(x, 1); },
        [&] {
            fill(y, 1);
            fill(x, 2);
        });
    base.synchronize();
}
