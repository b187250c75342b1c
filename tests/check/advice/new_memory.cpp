// Memory is used on a stream other than the one that allocates it.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream make({.name = "make"}), use({.name = "use"});
    Array<int> x = empty<int>(make, 1000);
    fill(use, x, 1);
    use.synchronize();
    make.synchronize();
}
