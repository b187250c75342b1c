#include "cuda/driver.hpp"

namespace heddle::detail::cu {

Driver driver;

namespace {

template <class F>
bool look_up(F& function, const char* name, unsigned version) noexcept {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream, &result) != cudaSuccess) {
        cudaGetLastError(); // handled here: nobody else shall find it
        return false;
    }
    if (result != cudaDriverEntryPointSuccess || found == nullptr) return false;
    function = reinterpret_cast<F>(found);
    return true;
}

} // namespace

bool load_driver(const char*& missing) noexcept {
    const auto need = [&](auto& function, const char* name, unsigned version) {
        if (look_up(function, name, version)) return true;
        missing = name;
        return false;
    };
    // The number after each name is the version of the signature in cudaTypedefs.h.
    const bool all = need(driver.device_get, "cuDeviceGet", 2000) &&
                     need(driver.primary_context, "cuDevicePrimaryCtxRetain", 7000) &&
                     need(driver.current_context, "cuCtxGetCurrent", 4000) &&
                     need(driver.push_context, "cuCtxPushCurrent", 4000) &&
                     need(driver.pop_context, "cuCtxPopCurrent", 4000) &&
                     need(driver.context_device, "cuCtxGetDevice", 2000) &&
                     need(driver.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", 10010) &&
                     need(driver.event_record, "cuEventRecord", 2000) &&
                     need(driver.event_query, "cuEventQuery", 2000) &&
                     need(driver.event_synchronize, "cuEventSynchronize", 2000) &&
                     need(driver.stream_wait_event, "cuStreamWaitEvent", 3020) &&
                     need(driver.stream_query, "cuStreamQuery", 2000) &&
                     need(driver.stream_synchronize, "cuStreamSynchronize", 2000) &&
                     need(driver.stream_context, "cuStreamGetCtx", 9020) &&
                     need(driver.stream_id, "cuStreamGetId", 12000) &&
                     need(driver.capture_info, "cuStreamGetCaptureInfo", 12030) &&
                     need(driver.pointer_attributes, "cuPointerGetAttributes", 7000);
    look_up(driver.stream_wait_value, "cuStreamWaitValue64", 11070);
    return all;
}

} // namespace heddle::detail::cu
