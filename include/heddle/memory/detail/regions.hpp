// Converts arrays, views and host ranges to views, and views to untyped memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include <heddle/memory/range.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/memory/view_2d.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

// copy() takes arrays, views and contiguous host ranges; as_destination() and as_source() convert
// each to a view.
/// Returns `a`. Throws UsageError if it has no allocation (it was moved from, for example). Arrays
/// of size 0 have one. `call` is the public call that received the array.
template <class T>
const Array<T>& check_held(const Array<T>& a, const char* call, const SourceLocation& where) {
    if (Access::block(a) == nullptr) [[unlikely]]
        throw_no_array(call, where);
    return a;
}

// These functions and region() are always inlined. GCC 12 at -O1 assumes that a pointer does not
// escape if it only passes through an aggregate that a function returns by value. It would then not
// reload memory that a copy has written.
template <class T>
[[gnu::always_inline]] inline View<T> as_destination(View<T> v, const char* = "",
                                                     const SourceLocation& = {}) noexcept {
    return v;
}
template <class T>
[[gnu::always_inline]] inline View<T> as_destination(Array<T>& a, const char* call = "",
                                                     const SourceLocation& where = {}) {
    check_held(a, call, where);
    return a.view();
}
template <HostRange R>
[[gnu::always_inline]] inline auto as_destination(
    R&& r, const char* = "", const SourceLocation& = {}) noexcept -> View<ElementIn<R>> {
    return {std::ranges::data(r), std::ranges::size(r)};
}

template <class T>
[[gnu::always_inline]] inline View<const T> as_source(View<T> v, const char* = "",
                                                      const SourceLocation& = {}) noexcept {
    return v;
}
template <class T>
[[gnu::always_inline]] inline View<const T> as_source(const Array<T>& a, const char* call = "",
                                                      const SourceLocation& where = {}) {
    return check_held(a, call, where).view();
}
template <HostRange R>
[[gnu::always_inline]] inline auto as_source(const R& r, const char* = "",
                                             const SourceLocation& = {}) noexcept
    -> View<const RangeValue<const R>> {
    return {std::ranges::data(r), std::ranges::size(r)};
}

template <class To>
concept Destination = requires(To&& to) {
    detail::as_destination(to);
    requires !std::is_const_v<std::remove_pointer_t<decltype(detail::as_destination(to).data())>>;
};
template <class From>
concept Source = requires(const From& from) { detail::as_source(from); };
/// Whether S is T or const T.
template <class S, class T>
concept SameElement = std::is_same_v<std::remove_const_t<S>, T>;

/// Untyped memory, which may be part of an array. For one row, the pitch is `bytes`. The last two
/// members let errors name sizes in the user's elements and rows.
struct Region : MemoryRange {
    Block* owner = nullptr;
    std::uint32_t element = 1;  ///< bytes of an element
    bool is_rectangle = false;  ///< a View2D
};

template <class T> [[gnu::always_inline]] inline Region region(View<T> v) noexcept {
    return {{v.data(), v.size_bytes(), 1, v.size_bytes()}, Access::block(v), sizeof(T)};
}
template <class T> [[gnu::always_inline]] inline Region region(const View2D<T>& v) noexcept {
    const std::size_t bytes = v.columns() * sizeof(T);
    return {{v.memory().data(), bytes, v.rows(), v.rows() == 1 ? bytes : v.pitch() * sizeof(T)},
            Access::block(v.memory()),
            sizeof(T),
            true};
}
}  // namespace detail

}  // namespace heddle
