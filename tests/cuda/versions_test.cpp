// Features that an older CUDA lacks. Needs no GPU.
#include "cuda/device/versions.hpp"

#include "cuda/device/driver.hpp"
#include "support.hpp"

#include <string>

using namespace heddle_test;
using heddle::detail::cu::api;

namespace cu = heddle::detail::cu;

namespace {

/// Calls need_runtime() as if this version of the CUDA runtime were linked. Returns the message of
/// the error, or "".
std::string refused_with(int linked, int needed) {
    static int version = 0;
    version = linked;
    const auto own = api.cudaRuntimeGetVersion;
    api.cudaRuntimeGetVersion = [](int* found) {
        *found = version;
        return cudaSuccess;
    };
    const auto error =
        error_of([&] { cu::need_runtime(needed, "a switch node", {"instantiate", {}}); });
    api.cudaRuntimeGetVersion = own;
    if (!error) return "";
    CHECK(error->code() == heddle::ErrorCode::unsupported);
    return error->what();
}

}  // namespace

TEST_CASE("a feature that CUDA is too old for is refused with the version that has it", "[cuda]") {
    CHECK(refused_with(12080, 12080).empty());
    CHECK(refused_with(13050, 12080).empty());
    const std::string message = refused_with(12040, 12080);
    CHECK_THAT(message, contains("a switch node needs CUDA 12.8 or newer"));
    CHECK_THAT(message, contains("built with CUDA 12.4"));
}

TEST_CASE("versions of CUPTI belong to versions of CUDA", "[cuda]") {
    CHECK(cu::cuda_of_cupti(18) == 11);      // CUDA 11.8
    CHECK(cu::cuda_of_cupti(22) == 12);      // CUDA 12.4
    CHECK(cu::cuda_of_cupti(28) == 12);      // CUDA 12.9, update 1
    CHECK(cu::cuda_of_cupti(130001) == 13);  // CUDA 13.0
    CHECK(cu::cuda_of_cupti(130500) == 13);  // CUDA 13.5
}
