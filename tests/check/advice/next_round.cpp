// The end of a loop's body writes memory that the next iteration reads.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream near({.name = "near"}), far({.name = "far"});
    Array<int> x = zeros<int>(near, 1000), y = zeros<int>(near, 1000);
    synchronize();
    for (int round = 0; round < 3; ++round) {
        copy(near, y, x);
        far.wait_stream(near);
        copy(far, x, y);
    }
    near.synchronize();
    far.synchronize();
}
