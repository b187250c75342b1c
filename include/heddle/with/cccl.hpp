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
#include <type_traits>

#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <cuda/version>
#if CCCL_VERSION >= 3001000
#include <cuda/devices>
#include <cuda/stream>
#endif

#include <heddle/cuda.hpp>
#include <heddle/detail/raw_memory.hpp>

namespace heddle {

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
/// Memory may be used by all work enqueued later on the stream that allocates it. It is freed after
/// all work enqueued earlier on the stream that deallocates it, and after uses by heddle's own
/// calls. Order that stream after all other uses. The resource has no state: all resources of a
/// device are equal, and memory may outlive them.
///
/// Each call with a stream unknown to heddle wraps it until the call returns. Keep a wrap_stream()
/// of such a stream while containers use it, so that it caches memory as other streams do.
///
/// Allocating throws OutOfMemory, and UsageError for a stream of another device or an alignment
/// above 256 bytes. Deallocating passes errors to the report hook. Thread-safe.
class MemoryResource {
public:
    /// Makes a resource of `device`, by default the current one. Throws UsageError for a CPU
    /// device.
    explicit MemoryResource(Device device = Device(), Where where = {}) : device_(device) {
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

namespace detail {
/// Resources since CCCL 3.1, and of RMM on it.
template <class R>
concept StreamResource = requires(R& r, cuda::stream_ref s, void* p) {
    { r.allocate(s, std::size_t{}, std::size_t{}) } -> std::same_as<void*>;
    r.deallocate(s, p, std::size_t{}, std::size_t{});
};
/// Resources of CCCL 3.0.
template <class R>
concept AsyncResource = requires(R& r, cuda::stream_ref s, void* p) {
    { r.allocate_async(std::size_t{}, std::size_t{}, s) } -> std::same_as<void*>;
    r.deallocate_async(p, std::size_t{}, std::size_t{}, s);
};

template <class T, class R>
T* allocate_by(R& resource, StreamRef stream, std::size_t bytes, Where where) {
    if constexpr (StreamResource<R>)
        return static_cast<T*>(resource.allocate(cuda::stream_ref{borrow(stream, where)}, bytes,
                                                 alignof(std::max_align_t)));
    else
        return static_cast<T*>(resource.allocate_async(bytes, alignof(std::max_align_t),
                                                       cuda::stream_ref{borrow(stream, where)}));
}
template <class R>
void deallocate_by(R& resource, StreamRef stream, void* data, std::size_t bytes) {
    if constexpr (StreamResource<R>)
        resource.deallocate(cuda::stream_ref{borrow(stream)}, data, bytes,
                            alignof(std::max_align_t));
    else
        resource.deallocate_async(data, bytes, alignof(std::max_align_t),
                                  cuda::stream_ref{borrow(stream)});
}
}  // namespace detail

/// Makes an array of `size` elements in memory of another library's resource: a
/// cuda::mr::resource_ref, or an RMM resource.
///
///     Array<float> x = allocate_from<float>(resource, s, n);
///
/// The resource allocates on `stream`, as by borrow(stream): order other streams after it. When the
/// array is destroyed, the memory is deallocated on a stream that is ordered after all uses, as by
/// adopt() with a stream. The array keeps a copy of `resource`; a resource that it refers to has to
/// outlive the array. Throws what the resource throws, the stream's failure, and UsageError for a
/// stream of a CPU device and while the stream is captured.
template <class T, class R>
    requires(detail::StreamResource<R> || detail::AsyncResource<R>)
[[nodiscard]] Array<T> allocate_from(R resource, StreamRef stream, std::size_t size,
                                     Where where = {}) {
    detail::check_allocates_now(stream, "allocate_from", where);
    if (size == 0) return empty<T>(stream, 0, where);
    const std::size_t bytes = size * sizeof(T);
    T* const data = detail::allocate_by<T>(resource, stream, bytes, where);
    try {
        Array<T> x = adopt(
            stream.device(), data, size,
            [resource, bytes](T* p, StreamRef after) mutable {
                detail::deallocate_by(resource, after, p, bytes);
            },
            where);
        x.used_on(stream);
        return x;
    } catch (...) {
        detail::deallocate_by(resource, stream, data, bytes);
        throw;
    }
}

}  // namespace heddle
