// Errors that check_cuda() throws for native calls. Needs no GPU.
#include <heddle/cuda.hpp>

#include "support.hpp"

using namespace heddle_test;

TEST_CASE("a native call is checked heddle's way", "[cuda]") {
    check_cuda(cudaSuccess, "nothing");
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([] { check_cuda(cudaErrorInvalidValue, "cudaSomething"); });
    CHECK(error.native_code() == cudaErrorInvalidValue);
    CHECK(error.native_name() == "cudaErrorInvalidValue");
    CHECK(error.call() == "cudaSomething");
    CHECK(error.where().line == line);
    CHECK_THROWS_AS(check_cuda(cudaErrorMemoryAllocation, "cudaMalloc"), OutOfMemory);
}
