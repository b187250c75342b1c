// The differences between the CUDA versions that heddle compiles with: from 12.4 to the newest.
// All other files are written for the newest one, and include this file instead of CUDA's headers
// for a name of the tables in driver.hpp, or of this file. docs/adr/0078-cuda-versions.md has the
// rules. scripts/check_cuda_versions compiles the library with the headers of several versions.
#pragma once

#include <cstddef>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "core/base/errors.hpp"

#if CUDART_VERSION < 12040
#error "heddle needs CUDA 12.4 or newer"
#endif

// In CUDA 12, the plain names of these functions have other parameters. The suffixes select the
// parameters of CUDA 13.
#if CUDART_VERSION < 13000
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#endif

// Types of driver functions that older headers lack, as the header of each version declares them.
// The driver has the functions.
#if CUDART_VERSION < 12050
using PFN_cuCtxRecordEvent_v12050 = CUresult(CUDAAPI*)(CUcontext, CUevent);
#endif
#if CUDART_VERSION < 12080
using PFN_cuStreamGetDevice_v12080 = CUresult(CUDAAPI*)(CUstream, CUdevice*);
#endif
#if CUDART_VERSION < 12090
enum CUlogLevel { CU_LOG_LEVEL_ERROR = 0, CU_LOG_LEVEL_WARNING = 1 };
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUlogsCallback = void(CUDA_CB*)(void*, CUlogLevel, char*, std::size_t);
using PFN_cuLogsRegisterCallback_v12090 = CUresult(CUDAAPI*)(CUlogsCallback, void*,
                                                             CUlogsCallbackHandle*);
#endif

// The function of CUDA 12.5, made of functions of 12.4.
#if CUDART_VERSION < 12050
inline cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found,
                                                    unsigned version, unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult* result) {
    void* get = nullptr;  // cuGetProcAddress of CUDA 12.0, the newest one until 12.4
    const cudaError_t code =
        cudaGetDriverEntryPoint("cuGetProcAddress", &get, cudaEnableDefault, result);
    if (code != cudaSuccess || get == nullptr) return code;
    CUdriverProcAddressQueryResult status{};
    const CUresult answer = reinterpret_cast<PFN_cuGetProcAddress_v12000>(get)(
        name, found, static_cast<int>(version), flags, &status);
    *result = static_cast<cudaDriverEntryPointQueryResult>(status);  // they share the numbers
    return static_cast<cudaError_t>(answer);
}
#endif

namespace heddle::detail::cu {

// Values of enumerations that headers before 12.8 or 12.9 lack, as in the headers of 12.9.
inline constexpr auto error_contained = static_cast<cudaError_t>(226);
inline constexpr auto error_tensor_memory_leak = static_cast<cudaError_t>(721);
#if CUDART_VERSION >= 12080
inline constexpr auto condition_switch = cudaGraphCondTypeSwitch;
#else
inline constexpr auto condition_switch = cudaGraphCondTypeIf;  // unused: need_runtime() throws
#endif

/// The oldest driver that can run programs built with this version: the number of its branch.
/// Source: CUDA's release notes, table "minimum required driver". heddle calls driver functions of
/// CUDA 12.8, which is driver 570.
inline constexpr int oldest_driver = CUDART_VERSION < 13000 ? 570 : 580;

// The libraries that heddle loads have the major version of the runtime in their names.
#if CUDART_VERSION < 13000
inline constexpr const char* cudart_name = "libcudart.so.12";
inline constexpr const char* cupti_name = "libcupti.so.12";
inline constexpr const char* nvrtc_name = "libnvrtc.so.12";
#else
inline constexpr const char* cudart_name = "libcudart.so.13";
inline constexpr const char* cupti_name = "libcupti.so.13";
inline constexpr const char* nvrtc_name = "libnvrtc.so.13";
#endif

/// Returns the major version of CUDA that a version of CUPTI belongs to, such as 13 for 130001.
/// Before CUDA 13, CUPTI had small numbers: 19 in CUDA 12.0, 28 in CUDA 12.9.
constexpr unsigned cuda_of_cupti(unsigned version) noexcept {
    if (version >= 10'000) return version / 10'000;
    return version >= 19 ? 12 : 11;
}

/// Returns "13.0" for 13000, and an empty string for 0.
std::string version_text(int version);

/// Throws Unsupported if heddle was compiled or linked with a CUDA runtime older than `version`,
/// such as 12080. `feature` is for the message: "a switch node".
void need_runtime(int version, const char* feature, const ErrorSite& site);

}  // namespace heddle::detail::cu
