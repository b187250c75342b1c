// Two blocks of columns that overlap.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream left({.name = "left"}), right({.name = "right"});
    Array<int> x = zeros<int>(left, 64 * 64), y = zeros<int>(left, 64 * 33);
    synchronize();
    copy_2d(left, View2D<int>(x.view(), 64, 33, 64), View2D<int>(y.view(), 64, 33));
    copy_2d(right, View2D<int>(x.view().subview(32, 64 * 64 - 32), 64, 32, 64),
            View2D<int>(y.view(), 64, 32));
    left.synchronize();
    right.synchronize();
}
