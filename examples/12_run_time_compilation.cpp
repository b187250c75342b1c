// A kernel whose source is generated at run time. It is compiled while the device works, and loaded
// when the device is idle. On CPU devices, prints why that is impossible. Usage:
// example_12_run_time_compilation [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;

/// Returns the source of a polynomial, with its coefficients as constants.
std::string source_of(const std::vector<float>& coefficients) {
    std::string sum = "0.0f";
    for (const float c : coefficients) sum = "(" + sum + ") * v + " + std::to_string(c) + "f";
    return "template <class T> __global__ void evaluate(T* x, int n) {\n"
           "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "    if (i < n) { const T v = x[i]; x[i] = " +
           sum +
           "; }\n"
           "}\n";
}

int main(int argc, char** argv) {
    const hd::ScopedDevice on{device_argument(argc, argv)};
    constexpr int n = 1000;
    hd::Array<float> x = hd::full<float>(n, 2.0f);
    try {
        const hd::Program program =
            hd::compile(source_of({1, 2, 3}), {.names = {"evaluate<float>"}});
        const hd::Module code = program.load_when_idle();  // returns before the code is loaded
        hd::launch(code.kernel("evaluate<float>"), hd::dim(n), x, n);
        std::printf("%s: %s\n", hd::current_device().name().c_str(),
                    program.was_cached() ? "it was on disk" : "compiled");
    } catch (const hd::Unsupported& error) {
        std::printf("%s\n", error.what());
        return 0;
    } catch (const hd::CompileError& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return hd::to_host(x)[n - 1] == 11.0f ? 0 : 1;
}
