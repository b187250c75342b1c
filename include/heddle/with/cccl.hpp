// heddle with CCCL: conversions of streams, events and devices in both directions, and memory for
// CCCL's containers. Includes headers of CUDA and CCCL (3.0 or newer), and needs a heddle built
// with CUDA.
//
//     #include <heddle/with/cccl.hpp>
//
//     cuda::stream_ref r = s;                          // s: a Stream, which must outlive r
//     Stream same = wrap_stream(r);                    // another owner of s
//     heddle::MemoryResource memory{s.device()};
//     rmm::device_uvector<float> v(n, s, memory);      // in s's order, from heddle's pool
//
// A library may keep a stream_ref and enqueue at any time. Waits for such a stream are therefore
// never elided again, as after native_handle(). If a library needs the stream only for one call,
// lend it by with_native().
#pragma once

#include <concepts>
#include <cstddef>

#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <cuda/version>
#if CCCL_VERSION >= 3001000
#include <cuda/devices>
#include <cuda/stream>
#endif

#include <heddle/cuda.hpp>
#include <heddle/memory/detail/raw_memory.hpp>
#include <heddle/with/resource.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// Converts a StreamRef as native_handle() does. Throws UsageError for a stream of a CPU device.
template <> struct Conversion<StreamRef, cuda::stream_ref> {
    static cuda::stream_ref convert(StreamRef stream, Where where) {
        return {native_handle(stream, where)};
    }
};

#if CCCL_VERSION >= 3001000
/// Converts an Event as native_handle() does: to its newest record, valid while the Event exists
/// and is not recorded again. Throws UsageError for an event of a CPU device.
template <> struct Conversion<Event, cuda::event_ref> {
    static cuda::event_ref convert(const Event& event, Where where) {
        return {native_handle(event, where)};
    }
};

/// Throws UsageError for a CPU device.
template <> struct Conversion<Device, cuda::device_ref> {
    static cuda::device_ref convert(Device device, Where where) {
        check_is_gpu(device, "cuda::device_ref", where);
        return {device.index()};
    }
};
/// Device(device_ref) throws NoDevice if heddle has no such GPU.
template <> struct Conversion<cuda::device_ref, Device> {
    static Device convert(cuda::device_ref device, Where where) {
        return {DeviceKind::cuda, device.get(), where};
    }
};
#endif

}  // namespace detail

/// Wraps the stream of a cuda::stream_ref or cuda::stream without owning it, as
/// wrap_stream(cudaStream_t) does.
template <std::derived_from<cuda::stream_ref> S>
Stream wrap_stream(const S& stream, Where where = {}) {
    return wrap_stream(stream.get(), where);
}
template <std::derived_from<cuda::stream_ref> S>
Stream wrap_stream(const S& stream, Device device, Where where = {}) {
    return wrap_stream(stream.get(), device, where);
}

#if CCCL_VERSION >= 3001000
/// Wraps the event of a cuda::event_ref or cuda::event without owning it, as
/// wrap_event(cudaEvent_t, Device) does.
template <std::derived_from<cuda::event_ref> E>
Event wrap_event(const E& event, Device device, Where where = {}) {
    return wrap_event(event.get(), device, where);
}
#endif

#if CCCL_VERSION >= 3001000 || defined(LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE)
/// Provides heddle's memory of one GPU as a memory resource of CCCL and RMM, for containers that
/// take a cuda::mr::resource_ref. (CCCL 3.0 has those only if
/// LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE is defined.)
///
///     heddle::MemoryResource memory{Device("cuda:0")};
///     cuda::mr::resource_ref<cuda::mr::device_accessible> any = memory;
///
/// Order: memory may be used by all work enqueued later on the stream that allocates it. It is
/// freed after all work enqueued earlier on the stream that deallocates it, and after uses by
/// heddle's own calls. Order that stream after all other uses.
///
/// Lifetime: the resource has no state. All resources of a device are equal, and memory may outlive
/// them.
///
/// Each call with a stream unknown to heddle wraps it until the call returns. While containers use
/// such a stream, keep the object that wrap_stream() returns for it, so that the stream caches
/// memory as heddle's streams do.
///
/// Errors: allocating throws OutOfMemory, and UsageError for a stream of another device or an
/// alignment above 256 bytes. Deallocating passes errors to the report hook. Thread-safe.
class MemoryResource {
public:
    /// Makes a resource of `device`, by default the current one. Throws UsageError for a CPU
    /// device.
    explicit MemoryResource(Device device = current_device(), Where where = {}) : device_(device) {
        detail::check_is_gpu(device, "MemoryResource", where);
    }
    /// Returns the GPU whose memory it allocates.
    Device device() const noexcept { return device_; }

    /// Returns `bytes` bytes for `stream`, or null for 0 bytes.
    void* allocate(cuda::stream_ref stream, std::size_t bytes,
                   std::size_t alignment = alignof(std::max_align_t)) {
        return detail::allocate_native(device_, stream.get(), bytes, alignment);
    }
    /// Frees memory after all work enqueued so far on `stream`. Does not block.
    void deallocate(cuda::stream_ref stream, void* data, std::size_t /*bytes*/,
                    std::size_t /*alignment*/ = alignof(std::max_align_t)) noexcept {
        detail::deallocate_native(stream.get(), data);
    }
    /// Returns memory that any stream may use immediately. Blocks until it is available.
    void* allocate_sync(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
        return detail::allocate_raw(device_, bytes, alignment, SourceLocation());
    }
    /// Frees memory. All its uses outside heddle must have ended. Does not block.
    void deallocate_sync(void* data, std::size_t /*bytes*/,
                         std::size_t /*alignment*/ = alignof(std::max_align_t)) noexcept {
        detail::deallocate_raw(data, SourceLocation());
    }

    /// Like allocate_sync(), under the name of CCCL 3.0.
    void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
        return allocate_sync(bytes, alignment);
    }
    /// Like deallocate_sync(), under the name of CCCL 3.0.
    void deallocate(void* data, std::size_t bytes,
                    std::size_t alignment = alignof(std::max_align_t)) noexcept {
        deallocate_sync(data, bytes, alignment);
    }
    /// Like allocate() on a stream, under the name of CCCL 3.0.
    void* allocate_async(std::size_t bytes, std::size_t alignment, cuda::stream_ref stream) {
        return allocate(stream, bytes, alignment);
    }
    /// Like deallocate() on a stream, under the name of CCCL 3.0.
    void deallocate_async(void* data, std::size_t bytes, std::size_t alignment,
                          cuda::stream_ref stream) noexcept {
        deallocate(stream, data, bytes, alignment);
    }

    /// Resources of one device are equal: each may deallocate the memory of the other.
    bool operator==(const MemoryResource&) const = default;
    /// Declares that kernels can access the memory, and the host cannot.
    friend void get_property(const MemoryResource&, cuda::mr::device_accessible) noexcept {}
#if CCCL_VERSION >= 3002000
    /// The properties of the memory, for containers.
    using default_queries = cuda::mr::properties_list<cuda::mr::device_accessible>;
#endif

private:
    Device device_;
};
#endif

}  // namespace heddle
