// The host reads pinned memory before the copy to it has completed.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream down({.name = "down"});
    Array<int> x = zeros<int>(down, 1000), result = pinned<int>(1000);
    synchronize();
    copy(down, result, x);
    const int first = on_host(result)[0];
    down.synchronize();
    return first;
}
