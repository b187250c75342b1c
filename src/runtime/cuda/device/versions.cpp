#include "cuda/device/versions.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "cuda/device/driver.hpp"

namespace heddle::detail::cu {

std::string version_text(int version) {
    return version <= 0 ? "" : formatted("{}.{}", version / 1000, version % 1000 / 10);
}

void need_runtime(int version, const char* feature, const ErrorSite& site) {
    int built = CUDART_VERSION;
    if (int linked = 0; api.cudaRuntimeGetVersion(&linked) == cudaSuccess)
        built = std::min(built, linked);
    if (built >= version) return;
    unsupported_error(site,
                      "{} needs CUDA {} or newer, but heddle was built with CUDA {}: build it with "
                      "a newer toolkit",
                      feature, version_text(version), version_text(built));
}

}  // namespace heddle::detail::cu
