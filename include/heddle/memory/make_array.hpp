// Functions that make arrays: empty(), full(), zeros(), pinned(), pageable(), from_host() and
// clone().
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>

#include <heddle/memory/array.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/fill.hpp>
#include <heddle/stream/current_stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
template <class On>
concept StreamOrDevice = IsStream<On> || std::same_as<On, Device>;
template <class T>
Array<T> make_array(StreamRef stream, std::size_t size, const char* call, Where where) {
    return Access::array<T>(allocate(stream, size, sizeof(T), call, where), size);
}
}  // namespace detail

/// Allocates `size` uninitialised elements on `stream`'s device, in stream order. Without a stream,
/// uses the current stream, or the current stream of `device`. Throws OutOfMemory, as do all
/// functions below that make arrays.
template <class T>
[[nodiscard]] Array<T> empty(StreamRef stream, std::size_t size, Where where = {}) {
    return detail::make_array<T>(stream, size, "empty", where);
}
template <class T> [[nodiscard]] Array<T> empty(Device device, std::size_t size, Where where = {}) {
    return empty<T>(current_stream(device), size, where);
}
template <class T> [[nodiscard]] Array<T> empty(std::size_t size, Where where = {}) {
    return empty<T>(current_stream(), size, where);
}

/// Allocates `size` elements as empty() does and sets them to `value`, on the same stream.
template <class T, class V = T>
[[nodiscard]] Array<T> full(StreamRef stream, std::size_t size, const V& value, Where where = {}) {
    Array<T> array = detail::make_array<T>(stream, size, "full", where);
    fill(stream, array, value, where);
    return array;
}
template <class T, class V = T>
[[nodiscard]] Array<T> full(Device device, std::size_t size, const V& value, Where where = {}) {
    return full<T>(current_stream(device), size, value, where);
}
template <class T, class V = T>
[[nodiscard]] Array<T> full(std::size_t size, const V& value, Where where = {}) {
    return full<T>(current_stream(), size, value, where);
}

/// Allocates `size` elements as empty() does and sets their bytes to zero, on the same stream.
template <class T>
[[nodiscard]] Array<T> zeros(StreamRef stream, std::size_t size, Where where = {}) {
    Array<T> array = detail::make_array<T>(stream, size, "zeros", where);
    fill_zero(stream, array, where);
    return array;
}
template <class T> [[nodiscard]] Array<T> zeros(Device device, std::size_t size, Where where = {}) {
    return zeros<T>(current_stream(device), size, where);
}
template <class T> [[nodiscard]] Array<T> zeros(std::size_t size, Where where = {}) {
    return zeros<T>(current_stream(), size, where);
}

/// Deleted: to pass this type as a size, write std::size_t(size).
template <class T, class Why = mistake::a_size_is_a_whole_number, std::floating_point N, class... A>
Why empty(N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, detail::StreamOrDevice On,
          std::floating_point N, class... A>
Why empty(const On&, N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, std::floating_point N, class... A>
Why full(N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, detail::StreamOrDevice On,
          std::floating_point N, class... A>
Why full(const On&, N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, std::floating_point N, class... A>
Why zeros(N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, detail::StreamOrDevice On,
          std::floating_point N, class... A>
Why zeros(const On&, N, A&&...) = delete;

/// Allocates `size` uninitialised elements of page-locked host memory, from a cache. GPUs read and
/// write it directly and asynchronously. On machines without CUDA it is plain memory.
template <class T> [[nodiscard]] Array<T> pinned(std::size_t size, Where where = {}) {
    return detail::Access::array<T>(
        detail::allocate_host(MemoryKind::pinned, size, sizeof(T), where), size);
}
/// Allocates `size` uninitialised elements of plain host memory.
template <class T> [[nodiscard]] Array<T> pageable(std::size_t size, Where where = {}) {
    return detail::Access::array<T>(
        detail::allocate_host(MemoryKind::pageable, size, sizeof(T), where), size);
}

/// Returns a new array on `stream`'s device with the elements of a host range or host array. The
/// copy runs on `stream`. Without a stream, uses the current stream, or the current stream of
/// `device`. After the call the range may be changed, unless it is in pinned memory.
///
///     Array<float> x = from_host({1.0f, 2.0f, 3.0f});
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(StreamRef stream, const R& range, Where where = {}) {
    const View<const T> from(range);
    Array<T> array = detail::make_array<T>(stream, from.size(), "from_host", where);
    copy(stream, array, from, where);
    return array;
}
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(Device device, const R& range, Where where = {}) {
    return from_host(current_stream(device), range, where);
}
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(const R& range, Where where = {}) {
    return from_host(current_stream(), range, where);
}
/// Deleted: write from_host(View(pointer, size)).
template <class T>
Array<T> from_host(const T*, std::size_t, mistake::write_View_of_pointer_and_size = {}) = delete;
template <class T>
[[nodiscard]] Array<T> from_host(StreamRef stream, std::initializer_list<T> values,
                                 Where where = {}) {
    return from_host(stream, std::span<const T>(values.begin(), values.size()), where);
}
template <class T>
[[nodiscard]] Array<T> from_host(Device device, std::initializer_list<T> values, Where where = {}) {
    return from_host(current_stream(device), values, where);
}
template <class T>
[[nodiscard]] Array<T> from_host(std::initializer_list<T> values, Where where = {}) {
    return from_host(current_stream(), values, where);
}

/// Returns a new array with the elements of `array`, on the same device or in the same kind of host
/// memory. The copy runs on the stream that copy() uses: the current stream of that device.
///
///     Array<float> before = clone(x);
///
/// A clone of a shareable or imported array is an ordinary array. Throws UsageError for an array
/// without an allocation (moved from, for example).
template <class T> [[nodiscard]] Array<T> clone(const Array<T>& array, Where where = {}) {
    const View<const T> from = detail::check_held(array, "clone", where).view();
    const auto on_device = [&] {
        return detail::make_array<T>(current_stream(array.device()), from.size(), "clone", where);
    };
    Array<T> to = array.kind() == MemoryKind::device   ? on_device()
                  : array.kind() == MemoryKind::pinned ? pinned<T>(from.size(), where)
                                                       : pageable<T>(from.size(), where);
    copy(to, from, where);
    return to;
}
/// Returns a new array on `stream`'s device with the elements of an array or view of any memory.
/// The copy runs on `stream`. With a device instead, the new array is on that device, and the copy
/// is ordered as with copy() without a stream.
template <detail::ArrayOrView A>
[[nodiscard]] auto clone(StreamRef stream, const A& array, Where where = {}) {
    const auto from = detail::as_source(array, "clone", where);
    using T = typename decltype(from)::value_type;
    auto to = detail::make_array<T>(stream, from.size(), "clone", where);
    copy(stream, to, from, where);
    return to;
}
template <detail::ArrayOrView A>
[[nodiscard]] auto clone(Device device, const A& array, Where where = {}) {
    const auto from = detail::as_source(array, "clone", where);
    using T = typename decltype(from)::value_type;
    auto to = detail::make_array<T>(current_stream(device), from.size(), "clone", where);
    copy(to, from, where);
    return to;
}

}  // namespace heddle
