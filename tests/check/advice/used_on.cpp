// A stream uses an array through its address alone. The array may be freed before that work runs.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream net({.name = "net"}), make({.name = "make"});
    {
        Array<int> x = zeros<int>(make, 1000);
        make.synchronize();
        launch(
            net, [] HEDDLE_FN(std::size_t i, View<int> to) { to[i] = 1; }, dim(1000),
            View<int>(x.data(), 1000));
    }
    net.synchronize();
}
