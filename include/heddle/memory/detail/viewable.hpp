// The ranges that convert to views.
#pragma once

#include <type_traits>

#include <heddle/detail/access.hpp>
#include <heddle/detail/ranges.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

// Declared only, to test whether a type is one of heddle's own or derived from one.
template <class T> void array_or_view(const View<T>&);
template <class T> void array_or_view(const Array<T>&);
template <class R>
concept ArrayOrView = requires(const std::remove_cvref_t<R>& r) { array_or_view(r); };

template <class R>
concept HostRange = !ArrayOrView<R> && ContiguousRange<R>;
template <class R> using ElementIn = std::remove_reference_t<RangeReference<R>>;

/// Whether a View<T> can refer to elements U: U is T, or T is const U.
template <class U, class T>
concept ViewableAs = std::is_convertible_v<U (*)[], T (*)[]>;

/// A host range that converts to a View<T>.
template <class R, class T>
concept HostRangeOf = HostRange<R> && IndexedRange<R> && Lasting<R> && ViewableAs<ElementIn<R>, T>;

/// A temporary range that owns its elements. It would convert if it were not a temporary.
template <class R, class T>
concept EndingRangeOf =
    HostRange<R> && IndexedRange<R> && !Lasting<R> && ViewableAs<ElementIn<R>, T>;

}  // namespace detail
}  // namespace heddle
