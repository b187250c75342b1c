// The seam for bug reports: each backend lists the parts of the machine that it uses.
#pragma once

#include <vector>

#include <heddle/device/diagnosis.hpp>

namespace heddle::detail {

/// Append the backend's parts, with the reasons for missing ones. cuda defines the second function;
/// in a build without CUDA, no_cuda does. Throw only if memory is exhausted. Thread-safe.
void list_cpu_parts(std::vector<RuntimePart>& parts);
void list_cuda_parts(std::vector<RuntimePart>& parts);
/// Returns NCCL's version, or the reason why it cannot be used. nccl defines it; in a build without
/// NCCL, no_nccl does. Thread-safe.
RuntimePart nccl_part();

}  // namespace heddle::detail
