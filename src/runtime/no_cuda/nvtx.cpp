// Replaces cuda/timing/nvtx.cpp in a build without CUDA.
#include "core/base/errors.hpp"
#include "core/operation/start.hpp"

namespace heddle::detail {

void start_nvtx() {
    coded_error(ErrorCode::unsupported, {"HEDDLE_NVTX", {}},
                "heddle was built without CUDA, which contains NVTX: build it with CUDA");
}

}  // namespace heddle::detail
