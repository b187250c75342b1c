// Raw CUDA as a careful user writes it, for comparison with heddle.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace bench {

[[noreturn]] inline void raw_failed(cudaError_t code) {
    throw std::runtime_error(std::string("raw CUDA: ") + cudaGetErrorName(code) + ": " +
                             cudaGetErrorString(code));
}

/// Checks the result of a native call as heddle does.
inline void ok(cudaError_t code) {
    if (code != cudaSuccess) [[unlikely]]
        raw_failed(code);
}

/// The objects of one raw implementation. Its functions share them: they are destroyed with the
/// last function. Construct while the device is current.
struct Raw {
    cudaStream_t a = nullptr, b = nullptr, c = nullptr;          ///< non-blocking streams
    cudaEvent_t of_a = nullptr, of_b = nullptr, of_c = nullptr;  ///< events without timing

    Raw() {
        for (cudaStream_t* stream : {&a, &b, &c})
            ok(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        for (cudaEvent_t* event : {&of_a, &of_b, &of_c})
            ok(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() {
        for (cudaStream_t stream : {a, b, c}) cudaStreamDestroy(stream);
        for (cudaEvent_t event : {of_a, of_b, of_c}) cudaEventDestroy(event);
    }
};

inline void synchronize_raw_device() { ok(cudaDeviceSynchronize()); }

}  // namespace bench
