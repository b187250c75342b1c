// Provides memory to other libraries, ordered by native streams.
#include <heddle/cuda.hpp>
#include <heddle/memory/detail/raw_memory.hpp>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "cuda/device/errors.hpp"

namespace heddle::detail {

void check_is_gpu(Device device, const char* call, Where where) {
    if (!device.is_cuda())
        usage_error({call, where}, "{} is not a CUDA device: pass a CUDA device", device);
}

void check_allocates_now(StreamRef stream, const char* call, Where where) {
    if (stream.is_capturing(where))
        usage_error({call, where, record_of(stream)},
                    "the stream is being captured, so the graph would own the memory: allocate it "
                    "before the capture");
}

void* allocate_native(Device device, CUstream_st* native, std::size_t bytes,
                      std::size_t alignment) {
    const SourceLocation nowhere;  // another library makes the call
    const Stream stream = wrap_stream(native, nowhere);
    if (stream.device() != device)
        usage_error(
            {"allocate", nowhere, record_of(stream)},
            "the stream belongs to {}, but the memory resource belongs to {}: pass a stream of {}",
            stream.device(), device, device);
    return allocate_raw(stream, bytes, alignment, nowhere);
}

void deallocate_native(CUstream_st* native, void* data) noexcept try {
    if (data == nullptr) return;
    const Stream stream = wrap_stream(native, SourceLocation());
    deallocate_raw(stream, data, SourceLocation());
} catch (const Error& error) {
    // Ignored: at exit, the driver has freed all memory, and after a fork, the memory belongs to
    // the parent.
    if (!cu::is_unloading(static_cast<cudaError_t>(error.native_code())) &&
        error.code() != ErrorCode::forked)
        report(error);
} catch (...) {
    report(std::current_exception());
}

}  // namespace heddle::detail
