// Two kernels on two streams; the second reads memory that the first writes.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream halo({.name = "halo"}), inner({.name = "inner"});
    Array<float> x = zeros<float>(halo, 1000), y = zeros<float>(inner, 1000);
    synchronize();
    launch(halo, [] HEDDLE_FN(std::size_t i, View<float> to) { to[i] = 1; }, dim(1000), x);
    launch(
        inner,
        [] HEDDLE_FN(std::size_t i, View<const float> from, View<float> to) { to[i] = from[i]; },
        dim(1000), x, y);
    inner.synchronize();
    halo.synchronize();
}
