// The CUDA backend's part of a bug report.
#include "core/seam/runtime_parts.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include "core/base/format.hpp"
#include "core/seam/code_backend.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/errors.hpp"
#include "cuda/device/versions.hpp"
#include "cuda/timing/cupti.hpp"

namespace heddle::detail {

namespace {

/// Returns the version in a line such as "NVRM version: NVIDIA ... 580.95.05 ...", the first word
/// that begins with a digit. Returns an empty string if the kernel module is not loaded.
std::string kernel_module() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word, line;
    std::getline(file, line);
    for (const char c : line + ' ') {
        if (c != ' ' && c != '\t') {
            word += c;
            continue;
        }
        if (!word.empty() && word.front() >= '0' && word.front() <= '9') return word;
        word.clear();
    }
    return {};
}

RuntimePart driver_part() {
    RuntimePart part{
        .name = "CUDA driver", .found = {}, .problem = cu::the_backend().unavailable_reason()};
    int version = 0;
    if (!cu::is_forked() && cu::api.cudaDriverGetVersion(&version) == cudaSuccess)
        part.found = cu::version_text(version);
    if (const std::string module = kernel_module(); !module.empty())
        part.found += formatted("{}kernel module {}", part.found.empty() ? "" : ", ", module);
    return part;
}

RuntimePart runtime_part() {
    int version = 0;
    const cudaError_t code = cu::api.cudaRuntimeGetVersion(&version);
    return {.name = "CUDA runtime",
            .found = cu::version_text(version) + ", linked into the program",
            .problem = code == cudaSuccess ? "" : cudaGetErrorString(code)};
}

RuntimePart compiler_part() {
    RuntimePart part{.name = "NVRTC", .found = {}, .problem = {}};
    try {
        // "NVRTC 13.0, 1000 bytes of 1792100186": the version, and the file's size and time.
        part.found = code_backend().compiler({});
        part.found.resize(std::min(part.found.size(), part.found.find(',')));
        if (part.found.starts_with("NVRTC ")) part.found.erase(0, 6);
    } catch (const Error& error) {
        part.problem = error.info().message;
    }
    return part;
}

/// Returns one property of the link from one GPU to another, or -1 if it is unknown.
int link_property(cudaDeviceP2PAttr property, int from, int to) {
    int value = -1;
    if (cu::api.cudaDeviceGetP2PAttribute(&value, property, from, to) == cudaSuccess) return value;
    cudaGetLastError();  // clears the error, which is handled here
    return -1;
}

/// Appends the links between each two GPUs.
void list_links(std::vector<RuntimePart>& parts) {
    const int count = cu::the_backend().device_count();
    for (int from = 0; from < count; ++from)
        for (int to = from + 1; to < count; ++to) {
            RuntimePart part{
                .name = formatted("link cuda:{} to cuda:{}", from, to), .found = {}, .problem = {}};
            if (link_property(cudaDevP2PAttrAccessSupported, from, to) == 1)
                part.found =
                    formatted("direct, performance rank {} (0 is the fastest), {} atomics",
                              link_property(cudaDevP2PAttrPerformanceRank, from, to),
                              link_property(cudaDevP2PAttrNativeAtomicSupported, from, to) == 1
                                  ? "native"
                                  : "no native");
            else part.problem = "no direct access: copies go through the host";
            parts.push_back(std::move(part));
        }
}

}  // namespace

void list_cuda_parts(std::vector<RuntimePart>& parts) {
    parts.push_back(driver_part());
    parts.push_back(runtime_part());
    parts.push_back(cu::cupti_part());
    parts.push_back(compiler_part());
    if (!cu::is_forked()) list_links(parts);
}

}  // namespace heddle::detail
