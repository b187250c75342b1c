// Work on the default stream and on another stream.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream side({.name = "side"});
    Array<int> x = zeros<int>(1000);
    synchronize();
    fill(side, x, 1);
    fill(x, 2);
    side.synchronize();
    synchronize();
}
