// Every CUDA function that the backend calls, in one table, under CUDA's own names.
//
// Driver functions are looked up at run time, because heddle links only the static runtime and must
// start without a driver. Compared with their runtime counterparts they have four advantages:
// - They take some 5 to 20 % less time.
// - None initialises device 0 on a thread without a current device.
// - None touches the runtime's "last error".
// - Contexts can be pushed and popped, which leaves a thread exactly as it was. (cudaSetDevice
//   initialises the device that it restores.)
//
// Runtime functions are in the table too, so that tests can replace any function, for example to
// make the k-th call fail. The table omits functions that cannot fail (cudaGetErrorName,
// cudaGetErrorString, cudaGetLastError), and launches in the callers' own code.
#pragma once

#include "cuda/device/versions.hpp"

namespace heddle::detail::cu {

/// Driver functions, each with the CUDA version whose signature is selected: 12030 is CUDA 12.3.
#define HEDDLE_DRIVER_CALLS(F)                                                                     \
    F(cuCtxGetCurrent, 4000)                                                                       \
    F(cuCtxGetDevice, 2000)                                                                        \
    F(cuCtxPopCurrent, 4000)                                                                       \
    F(cuCtxPushCurrent, 4000)                                                                      \
    F(cuCtxRecordEvent, 12050)                                                                     \
    F(cuDeviceGet, 2000)                                                                           \
    F(cuDevicePrimaryCtxRetain, 7000)                                                              \
    F(cuEventQuery, 2000)                                                                          \
    F(cuEventRecord, 2000)                                                                         \
    F(cuEventSynchronize, 2000)                                                                    \
    F(cuFuncGetName, 12030)                                                                        \
    F(cuFuncGetParamInfo, 12040)                                                                   \
    F(cuFuncLoad, 12040)                                                                           \
    F(cuFuncSetAttribute, 9000)                                                                    \
    F(cuGraphAddNode, 12030)                                                                       \
    F(cuGraphExecKernelNodeSetParams, 12000)                                                       \
    F(cuGraphExecMemcpyNodeSetParams, 10020)                                                       \
    F(cuGraphExecNodeSetParams, 12020)                                                             \
    F(cuGraphLaunch, 10000)                                                                        \
    F(cuLaunchHostFunc, 10000)                                                                     \
    F(cuLaunchKernel, 4000)                                                                        \
    F(cuLaunchKernelEx, 11060)                                                                     \
    F(cuMemAllocFromPoolAsync, 11020)                                                              \
    F(cuMemcpyDtoDAsync, 3020)                                                                     \
    F(cuMemcpyDtoHAsync, 3020)                                                                     \
    F(cuMemcpyHtoDAsync, 3020)                                                                     \
    F(cuMemFreeAsync, 11020)                                                                       \
    F(cuMemsetD16Async, 3020)                                                                      \
    F(cuMemsetD2D16Async, 3020)                                                                    \
    F(cuMemsetD2D32Async, 3020)                                                                    \
    F(cuMemsetD2D8Async, 3020)                                                                     \
    F(cuMemsetD32Async, 3020)                                                                      \
    F(cuMemsetD8Async, 3020)                                                                       \
    F(cuModuleEnumerateFunctions, 12040)                                                           \
    F(cuModuleGetFunctionCount, 12040)                                                             \
    F(cuModuleLoadDataEx, 2010)                                                                    \
    F(cuModuleUnload, 2000)                                                                        \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                           \
    F(cuOccupancyMaxActiveClusters, 11070)                                                         \
    F(cuPointerGetAttributes, 7000)                                                                \
    F(cuStreamGetCaptureInfo, 12030)                                                               \
    F(cuStreamGetDevice, 12080)                                                                    \
    F(cuStreamGetId, 12000)                                                                        \
    F(cuStreamQuery, 2000)                                                                         \
    F(cuStreamSynchronize, 2000)                                                                   \
    F(cuStreamWaitEvent, 3020)                                                                     \
    F(cuThreadExchangeStreamCaptureMode, 10010)

/// Driver functions that a driver may lack. The pointer to a missing function is null.
#define HEDDLE_OPTIONAL_DRIVER_CALLS(F)                                                            \
    F(cuLogsRegisterCallback, 12090)                                                               \
    F(cuModuleGetLoadingMode, 11070)                                                               \
    F(cuStreamWaitValue64, 11070)

#define HEDDLE_RUNTIME_CALLS(F)                                                                    \
    F(cudaDeviceCanAccessPeer)                                                                     \
    F(cudaDeviceDisablePeerAccess)                                                                 \
    F(cudaDeviceEnablePeerAccess)                                                                  \
    F(cudaDeviceGetAttribute)                                                                      \
    F(cudaDeviceGetP2PAttribute)                                                                   \
    F(cudaDeviceGetPCIBusId)                                                                       \
    F(cudaDeviceGetStreamPriorityRange)                                                            \
    F(cudaDriverGetVersion)                                                                        \
    F(cudaEventCreateWithFlags)                                                                    \
    F(cudaEventDestroy)                                                                            \
    F(cudaEventElapsedTime)                                                                        \
    F(cudaFree)                                                                                    \
    F(cudaFreeHost)                                                                                \
    F(cudaFuncGetAttributes)                                                                       \
    F(cudaFuncGetName)                                                                             \
    F(cudaFuncSetAttribute)                                                                        \
    F(cudaGetDevice)                                                                               \
    F(cudaGetDeviceCount)                                                                          \
    F(cudaGetDeviceProperties)                                                                     \
    F(cudaGetDriverEntryPointByVersion)                                                            \
    F(cudaGetFuncBySymbol)                                                                         \
    F(cudaGetSymbolAddress)                                                                        \
    F(cudaGraphAddNode)                                                                            \
    F(cudaGraphConditionalHandleCreate)                                                            \
    F(cudaGraphCreate)                                                                             \
    F(cudaGraphDestroy)                                                                            \
    F(cudaGraphExecDestroy)                                                                        \
    F(cudaGraphExecNodeSetParams)                                                                  \
    F(cudaGraphExecUpdate)                                                                         \
    F(cudaGraphGetNodes)                                                                           \
    F(cudaGraphInstantiate)                                                                        \
    F(cudaGraphKernelNodeSetAttribute)                                                             \
    F(cudaGraphNodeGetType)                                                                        \
    F(cudaGraphNodeSetEnabled)                                                                     \
    F(cudaGraphRetainUserObject)                                                                   \
    F(cudaGraphUpload)                                                                             \
    F(cudaHostAlloc)                                                                               \
    F(cudaHostRegister)                                                                            \
    F(cudaHostUnregister)                                                                          \
    F(cudaIpcCloseMemHandle)                                                                       \
    F(cudaIpcGetEventHandle)                                                                       \
    F(cudaIpcGetMemHandle)                                                                         \
    F(cudaIpcOpenEventHandle)                                                                      \
    F(cudaIpcOpenMemHandle)                                                                        \
    F(cudaLaunchKernel)                                                                            \
    F(cudaLaunchKernelExC)                                                                         \
    F(cudaMalloc)                                                                                  \
    F(cudaMemcpy2DAsync)                                                                           \
    F(cudaMemcpy3DPeerAsync)                                                                       \
    F(cudaMemcpyAsync)                                                                             \
    F(cudaMemcpyPeerAsync)                                                                         \
    F(cudaMemGetInfo)                                                                              \
    F(cudaMemPoolCreate)                                                                           \
    F(cudaMemPoolDestroy)                                                                          \
    F(cudaMemPoolGetAttribute)                                                                     \
    F(cudaMemPoolSetAccess)                                                                        \
    F(cudaMemPoolSetAttribute)                                                                     \
    F(cudaMemPoolTrimTo)                                                                           \
    F(cudaOccupancyMaxActiveBlocksPerMultiprocessor)                                               \
    F(cudaOccupancyMaxActiveClusters)                                                              \
    F(cudaRuntimeGetVersion)                                                                       \
    F(cudaStreamBeginCapture)                                                                      \
    F(cudaStreamCopyAttributes)                                                                    \
    F(cudaStreamCreateWithPriority)                                                                \
    F(cudaStreamDestroy)                                                                           \
    F(cudaStreamEndCapture)                                                                        \
    F(cudaStreamGetPriority)                                                                       \
    F(cudaStreamUpdateCaptureDependencies)                                                         \
    F(cudaUserObjectCreate)                                                                        \
    F(cudaUserObjectRelease)

/// The functions of the CUDA driver and runtime that heddle calls. Pointers to driver functions are
/// null until load_driver() finds them.
struct Api {
#define HEDDLE_DECLARE(name, version) PFN_##name##_v##version name = nullptr;
    HEDDLE_DRIVER_CALLS(HEDDLE_DECLARE)
    HEDDLE_OPTIONAL_DRIVER_CALLS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
#define HEDDLE_DECLARE(name) decltype(&::name) name = &::name;
    HEDDLE_RUNTIME_CALLS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
};

extern Api api;

/// Looks up the driver's functions. Returns false if the driver lacks a required one, and sets
/// `missing` to its name.
bool load_driver(const char*& missing) noexcept;

/// Converts a driver result code. The driver and the runtime share the numbers.
inline cudaError_t as_runtime(CUresult code) noexcept { return static_cast<cudaError_t>(code); }

}  // namespace heddle::detail::cu
