// Arrays in memory of other libraries' resources. Included by <heddle/with/cccl.hpp>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include <cuda/stream_ref>

#include <heddle/cuda.hpp>
#include <heddle/memory/adopt.hpp>
#include <heddle/memory/detail/raw_memory.hpp>

namespace heddle HEDDLE_VISIBLE {

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

template <class T>
inline constexpr std::size_t resource_alignment = std::max(alignof(T), alignof(std::max_align_t));

template <class T, class R>
T* allocate_by(R& resource, StreamRef stream, std::size_t bytes, Where where) {
    if constexpr (StreamResource<R>)
        return static_cast<T*>(resource.allocate(cuda::stream_ref{borrow(stream, where)}, bytes,
                                                 resource_alignment<T>));
    else
        return static_cast<T*>(resource.allocate_async(bytes, resource_alignment<T>,
                                                       cuda::stream_ref{borrow(stream, where)}));
}
template <class T, class R>
void deallocate_by(R& resource, StreamRef stream, T* data, std::size_t bytes) {
    if constexpr (StreamResource<R>)
        resource.deallocate(cuda::stream_ref{borrow(stream)}, data, bytes, resource_alignment<T>);
    else
        resource.deallocate_async(data, bytes, resource_alignment<T>,
                                  cuda::stream_ref{borrow(stream)});
}
}  // namespace detail

/// Makes an array of `size` elements in memory of another library's resource: a
/// cuda::mr::resource_ref, or an RMM resource.
///
///     Array<float> x = allocate_from<float>(resource, s, n);
///
/// The resource allocates on `stream`, which is lent as by borrow(stream): order other streams
/// after it. When the array is destroyed, the memory is deallocated on a stream that is ordered
/// after all uses, as with adopt() and a stream. The array keeps a copy of `resource`; a resource
/// that the copy refers to has to outlive the array. Throws exceptions of the resource, the
/// stream's failure, and UsageError for a stream of a CPU device and while the stream is captured.
template <class T, class R>
    requires(detail::StreamResource<R> || detail::AsyncResource<R>)
[[nodiscard]] Array<T> allocate_from(R resource, StreamRef stream, std::size_t size,
                                     Where where = {}) {
    detail::check_allocates_now(stream, "allocate_from", where);
    if (size == 0) return empty<T>(stream, 0, where);
    const std::size_t bytes = size * sizeof(T);
    T* const data = detail::allocate_by<T>(resource, stream, bytes, where);
    Array<T> x;
    try {
        x = adopt(
            stream.device(), data, size,
            [resource, bytes](T* p, StreamRef after) mutable {
                detail::deallocate_by(resource, after, p, bytes);
            },
            where);
    } catch (...) {
        detail::deallocate_by(resource, stream, data, bytes);
        throw;
    }
    x.used_on(stream);
    return x;
}

}  // namespace heddle
