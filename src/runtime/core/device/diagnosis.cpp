// Bug reports: the parts of the machine that heddle uses.
#include <heddle/device/diagnosis.hpp>

#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/seam/runtime_parts.hpp"

namespace heddle {

std::vector<RuntimePart> runtime_parts() try {
    std::vector<RuntimePart> parts;
    detail::list_cpu_parts(parts);
    detail::list_cuda_parts(parts);
    parts.push_back(detail::nccl_part());
    return parts;
} catch (...) {
    detail::rethrow_as_error("runtime_parts", {});
}

std::vector<EnvironmentVariable> environment_variables() try {
    return detail::list_variables();
} catch (...) {
    detail::rethrow_as_error("environment_variables", {});
}

}  // namespace heddle
