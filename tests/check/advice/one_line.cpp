// Two calls on one line.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream a({.name = "a"}), b({.name = "b"});
    Array<int> x = zeros<int>(a, 1000);
    synchronize();
    // clang-format off
    fill(a, x, 1); fill(b, x, 2);
    // clang-format on
    a.synchronize();
    b.synchronize();
}
