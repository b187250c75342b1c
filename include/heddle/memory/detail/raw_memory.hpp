// Memory of heddle by address alone, for the containers of other libraries.
#pragma once

#include <cstddef>

#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Returns memory for work enqueued on `stream` from now on, or null if `bytes` is 0. Throws
/// OutOfMemory, and UsageError if `alignment` is not a power of two up to 256. Thread-safe.
void* allocate_raw(StreamRef stream, std::size_t bytes, std::size_t alignment, Where where);
/// Returns memory of `device` that any stream may use at once. Blocks until it is allocated.
/// Otherwise the same as above.
void* allocate_raw(Device device, std::size_t bytes, std::size_t alignment, Where where);

/// Frees memory from allocate_raw() after all work enqueued so far on `stream`, and after all work
/// on the memory that heddle enqueued on any stream. Never blocks. Null has no effect. Passes
/// errors to the report hook, for example if `data` is not the address of such memory. Thread-safe.
void deallocate_raw(StreamRef stream, void* data, Where where) noexcept;
/// Does the same for memory that no work outside heddle uses any more.
void deallocate_raw(void* data, Where where) noexcept;

// The functions below exist only in builds with CUDA.

/// Throws UsageError naming `call` if the device is not a GPU.
void check_is_gpu(Device device, const char* call, Where where);
/// Throws UsageError if the stream is being captured.
void check_allocates_now(StreamRef stream, const char* call, Where where);
/// Works like allocate_raw(), for a stream that heddle may not know. Throws UsageError if the
/// stream is not of `device`.
void* allocate_native(Device device, CUstream_st* stream, std::size_t bytes, std::size_t alignment);
/// Works like deallocate_raw(), for such a stream of any device.
void deallocate_native(CUstream_st* stream, void* data) noexcept;

}  // namespace detail
}  // namespace heddle
