// Launches of __global__ functions without a GPU.
#include "../../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

__global__ void write_indices(int* out, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = i;
}

}  // namespace

TEST_CASE("a __global__ function on a CPU stream is a usage error", "[cuda]") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { launch(s, write_indices, grid(1, 32), x, 10); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    s.synchronize();
    CHECK_FALSE(s.is_poisoned());
}
