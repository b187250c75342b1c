// A kernel whose source is generated at run time. It is compiled while the device works, and loaded
// when the device is idle. On CPU devices, prints why that is impossible. Usage:
// example_12_run_time_compilation [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "device_argument.hpp"

using namespace heddle;

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
    const ScopedDevice on{device_argument(argc, argv)};
    constexpr int n = 1000;
    Array<float> x = full<float>(n, 2.0f);
    try {
        const Program program = compile(source_of({1, 2, 3}), {.names = {"evaluate<float>"}});
        const Module code = program.load_when_idle();  // returns before the code is loaded
        launch(code.kernel("evaluate<float>"), dim(n), x, n);
        std::printf("%s: %s\n", current_device().name().c_str(),
                    program.was_cached() ? "it was on disk" : "compiled");
    } catch (const Unsupported& error) {
        std::printf("%s\n", error.what());
        return 0;
    } catch (const CompileError& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return to_host(x)[n - 1] == 11.0f ? 0 : 1;
}
