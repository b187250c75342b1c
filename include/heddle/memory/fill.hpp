// fill() and fill_zero(): set the elements of arrays, views and host memory.
#pragma once

#include <cstddef>
#include <type_traits>

#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/view_2d.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// Returns the value that fill() sets elements to.
template <class T, class V> T element_of(const V& value) {
    static_assert(
        requires { static_cast<T>(value); }, "heddle: fill(): the value does not convert to the "
                                             "element type: pass a value of the element type");
    static_assert(!(std::is_floating_point_v<V> && std::is_integral_v<T>),
                  "heddle: fill(): the value has a fraction, but the elements are integers: to "
                  "truncate the value, pass static_cast<int>(value)");
    if constexpr (requires { static_cast<T>(value); }) return static_cast<T>(value);
    else __builtin_unreachable();
}

void fill_region(StreamRef stream, const Region& to, const void* value, std::size_t size,
                 const SourceLocation& where);
void fill_region(const Region& to, const void* value, std::size_t size,
                 const SourceLocation& where);

}  // namespace detail

/// Sets every element of an array, view or contiguous host range to `value`, converted to the
/// element type. Runs on `stream`, by default on the current stream of the memory's device.
/// Asynchronous, for pageable memory too. Throws UsageError if the stream's device cannot reach the
/// memory.
template <detail::Destination To, class V>
void fill(StreamRef stream, To&& to, const V& value, Where where = {}) {
    auto destination = detail::as_destination(to, "fill", where);
    using T = typename decltype(destination)::value_type;
    const T element = detail::element_of<T>(value);
    detail::fill_region(stream, detail::region(destination), &element, sizeof element, where);
}
template <detail::Destination To, class V> void fill(To&& to, const V& value, Where where = {}) {
    auto destination = detail::as_destination(to, "fill", where);
    using T = typename decltype(destination)::value_type;
    const T element = detail::element_of<T>(value);
    detail::fill_region(detail::region(destination), &element, sizeof element, where);
}

/// Sets only the elements of a rectangle. Otherwise the same as for an array.
template <class T, class V>
    requires(!std::is_const_v<T>)
void fill(StreamRef stream, const View2D<T>& to, const V& value, Where where = {}) {
    const T element = detail::element_of<T>(value);
    detail::fill_region(stream, detail::region(to), &element, sizeof element, where);
}
template <class T, class V>
    requires(!std::is_const_v<T>)
void fill(const View2D<T>& to, const V& value, Where where = {}) {
    const T element = detail::element_of<T>(value);
    detail::fill_region(detail::region(to), &element, sizeof element, where);
}

/// Deleted for pointers: write fill(View(to, size), value).
template <class Why = mistake::write_View_of_pointer_and_size, class To, class... A>
    requires(std::is_pointer_v<std::remove_cvref_t<To>>)
Why fill(To&&, A&&...) = delete;

/// Deleted: write fill(stream, to, value).
template <class Why = mistake::the_stream_is_the_first_argument, detail::Destination To,
          detail::IsStream S, class V>
Why fill(To&&, const S&, const V&, Where = {}) = delete;

/// Sets every byte to zero. Otherwise the same as fill().
template <detail::Destination To> void fill_zero(StreamRef stream, To&& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(stream, detail::region(detail::as_destination(to, "fill_zero", where)),
                        &zero, 1, where);
}
template <detail::Destination To> void fill_zero(To&& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(detail::region(detail::as_destination(to, "fill_zero", where)), &zero, 1,
                        where);
}

/// Sets only the bytes of a rectangle's elements to zero.
template <class T>
    requires(!std::is_const_v<T>)
void fill_zero(StreamRef stream, const View2D<T>& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(stream, detail::region(to), &zero, 1, where);
}
template <class T>
    requires(!std::is_const_v<T>)
void fill_zero(const View2D<T>& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(detail::region(to), &zero, 1, where);
}

}  // namespace heddle
