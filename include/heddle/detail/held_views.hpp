// Views, and classes that name the views that they hold.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

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

/// A class that names what it reaches, for kernels and their arguments: C++ cannot look into it.
template <class T>
concept NamesMembers =
    std::is_class_v<T> && requires(const T& value) { requires is_tuple<decltype(value.views())>; };
template <class T> using HeldViews = decltype(std::declval<const T&>().views());
template <class T>
concept HoldsViews = NamesMembers<T> && is_tuple_of_views<HeldViews<T>>;

/// How many views a kernel or an argument is or holds.
template <class T> constexpr std::size_t count_views() {
    if constexpr (ViewTraits<T>::is_view) return 1;
    else if constexpr (HoldsViews<T>) return std::tuple_size_v<HeldViews<T>>;
    else {
        static_assert(
            !NamesMembers<T>,
            "heddle: views() of a kernel, or of an argument, returns a std::tuple of views "
            "alone");
        return 0;
    }
}

}  // namespace heddle::detail
