#include "cuda/driver.hpp"

namespace heddle::detail::cu {

Driver driver;

namespace {

// Functions are found in the form that they had in this version; the types in driver.hpp are those forms.
constexpr unsigned version = 12040;

template <class F> bool look_up(F& function, const char* name) noexcept {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream, &result) !=
        cudaSuccess) {
        cudaGetLastError();  // handled here: nobody else shall find it
        return false;
    }
    if (result != cudaDriverEntryPointSuccess || found == nullptr) return false;
    function = reinterpret_cast<F>(found);
    return true;
}

}  // namespace

bool load_driver(const char*& missing) noexcept {
    const auto need = [&](auto& function, const char* name) {
        if (look_up(function, name)) return true;
        missing = name;
        return false;
    };
    const bool all =
        need(driver.device_get, "cuDeviceGet") && need(driver.primary_context, "cuDevicePrimaryCtxRetain") &&
        need(driver.current_context, "cuCtxGetCurrent") && need(driver.push_context, "cuCtxPushCurrent") &&
        need(driver.pop_context, "cuCtxPopCurrent") && need(driver.context_device, "cuCtxGetDevice") &&
        need(driver.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode") &&
        need(driver.event_record, "cuEventRecord") && need(driver.event_query, "cuEventQuery") &&
        need(driver.event_synchronize, "cuEventSynchronize") &&
        need(driver.stream_wait_event, "cuStreamWaitEvent") && need(driver.stream_query, "cuStreamQuery") &&
        need(driver.stream_synchronize, "cuStreamSynchronize") &&
        need(driver.stream_context, "cuStreamGetCtx") && need(driver.stream_id, "cuStreamGetId") &&
        need(driver.capture_info, "cuStreamGetCaptureInfo") &&
        need(driver.pointer_attributes, "cuPointerGetAttributes") &&
        need(driver.launch_graph, "cuGraphLaunch") &&
        need(driver.set_kernel_node, "cuGraphExecKernelNodeSetParams") &&
        need(driver.launch_host_function, "cuLaunchHostFunc") &&
        need(driver.allocate_from_pool, "cuMemAllocFromPoolAsync") &&
        need(driver.free_memory, "cuMemFreeAsync") && need(driver.copy_to_device, "cuMemcpyHtoDAsync") &&
        need(driver.copy_to_host, "cuMemcpyDtoHAsync") && need(driver.copy_on_device, "cuMemcpyDtoDAsync") &&
        need(driver.memset_8, "cuMemsetD8Async") && need(driver.memset_16, "cuMemsetD16Async") &&
        need(driver.memset_32, "cuMemsetD32Async") && need(driver.memset_2d_8, "cuMemsetD2D8Async") &&
        need(driver.memset_2d_16, "cuMemsetD2D16Async") && need(driver.memset_2d_32, "cuMemsetD2D32Async") &&
        need(driver.load_module, "cuModuleLoadDataEx") && need(driver.unload_module, "cuModuleUnload") &&
        need(driver.count_functions, "cuModuleGetFunctionCount") &&
        need(driver.list_functions, "cuModuleEnumerateFunctions") &&
        need(driver.load_function, "cuFuncLoad") && need(driver.function_name, "cuFuncGetName") &&
        need(driver.function_parameter, "cuFuncGetParamInfo") &&
        need(driver.set_function_attribute, "cuFuncSetAttribute") &&
        need(driver.launch_kernel, "cuLaunchKernel") &&
        need(driver.launch_kernel_in_a_way, "cuLaunchKernelEx") &&
        need(driver.blocks_per_processor, "cuOccupancyMaxActiveBlocksPerMultiprocessor") &&
        need(driver.active_clusters, "cuOccupancyMaxActiveClusters") &&
        need(driver.add_kernel_node, "cuGraphAddKernelNode");
    look_up(driver.stream_wait_value, "cuStreamWaitValue64");
    look_up(driver.loading_mode, "cuModuleGetLoadingMode");
    return all;
}

}  // namespace heddle::detail::cu
