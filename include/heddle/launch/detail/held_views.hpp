// Views, and classes that list the views that they hold.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/detail/spans.hpp>
#include <heddle/launch/detail/signals.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/view.hpp>

namespace heddle::detail {

template <class T> struct ViewTraits {
    static constexpr bool is_view = false;
};
template <class T> struct ViewTraits<View<T>> {
    static constexpr bool is_view = true;
};

template <class T> inline constexpr bool is_tuple = false;
template <class... T> inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class T> inline constexpr bool is_tuple_of_views = false;
template <class... T>
inline constexpr bool is_tuple_of_views<std::tuple<T...>> =
    (ViewTraits<std::remove_cvref_t<T>>::is_view && ...);

/// A kernel or argument class that lists its views in views(), because C++ has no reflection.
template <class T>
concept NamesMembers =
    std::is_class_v<T> && requires(const T& value) { requires is_tuple<decltype(value.views())>; };
template <class T> using HeldViews = decltype(std::declval<const T&>().views());
template <class T>
concept HoldsViews = NamesMembers<T> && is_tuple_of_views<HeldViews<T>>;

template <class T> inline constexpr bool is_rectangle = false;
template <class T> inline constexpr bool is_rectangle<View2D<T>> = true;

/// Returns whether an object may hold views that its type does not declare. Views are aligned, so
/// only an object with the alignment of a view can hold one.
template <class T> constexpr bool may_hold_views() {
    static_assert(
        !NamesMembers<T> || HoldsViews<T>,
        "heddle: views() of a kernel, or of an argument, must return a std::tuple of views only");
    return sizeof(T) >= sizeof(View<char>) && alignof(T) >= alignof(View<char>) &&
           std::is_class_v<T> && !ViewTraits<T>::is_view && !is_rectangle<T> && !HoldsViews<T> &&
           !AnySpan<T> && !holds_no_pointer<T>();
}

/// The maximum number of views that a kernel or an argument is or holds.
template <class T> constexpr std::size_t most_views() {
    if constexpr (HoldsViews<T>) return std::tuple_size_v<HeldViews<T>>;
    else if constexpr (may_hold_views<T>()) return sizeof(T) / sizeof(View<char>);
    else return ViewTraits<T>::is_view || is_rectangle<T> || AnySpan<T>;
}

}  // namespace heddle::detail
