// A user's program. It uses heddle only through the CMake target heddle::heddle.
#include <heddle/heddle.hpp>
#include <heddle/with/dlpack.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

struct Twice {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<float> x) const { x[i] *= 2.0f; }
};

// One source writes hd::, the other has a using-directive.
float first_with_alias(heddle::Device device);
float first_with_directive(heddle::Device device);

int main() {
    constexpr std::size_t n = 1000;
    heddle::ScopedDevice on{heddle::Device{"cpu"}};
    heddle::Array<float> x = heddle::full<float>(n, 1.0f);
    heddle::launch(Twice{}, heddle::dim(n), x);

    const heddle::DlpackPtr tensor = heddle::to_dlpack(x, {10, 100});

    for (const float value : heddle::to_host(x)) {
        if (value != 2.0f) {
            std::puts("wrong result");
            return 1;
        }
    }
    const heddle::Device cpu{"cpu"};
    if (first_with_alias(cpu) != 3.0f || first_with_directive(cpu) != 3.0f) {
        std::puts("wrong result of hd:: or of the using-directive");
        return 1;
    }
    std::puts("the consumer works");
}
