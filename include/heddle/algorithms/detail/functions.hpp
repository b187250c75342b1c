// The functions that users pass to algorithms, and heddle's own.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <heddle/kernel.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// A function that combines two values of type T.
template <class Op, class T>
concept Combines = std::is_invocable_r_v<T, const Op&, const T&, const T&>;
/// A function from elements of type In to values of type T.
template <class F, class In, class T>
concept Transforms = std::is_invocable_r_v<T, const F&, const In&>;
/// A function of elements of two types to values of type T.
template <class F, class A, class B, class T>
concept TransformsTwo = std::is_invocable_r_v<T, const F&, const A&, const B&>;
/// A function that returns whether the first of two elements is ordered before the second.
template <class Less, class T>
concept Orders = std::is_invocable_r_v<bool, const Less&, const T&, const T&>;

/// Whether F is the standard function object for elements of type T, such as std::plus.
template <class F, template <class> class Standard, class T>
inline constexpr bool is_standard = std::same_as<F, Standard<void>> || std::same_as<F, Standard<T>>;

/// Returns its argument.
struct Identity {
    template <class T> HEDDLE_FN constexpr const T& operator()(const T& value) const {
        return value;
    }
};

/// Reads the elements i of the inputs: `transform` of them, converted to T.
template <class T, class F> struct Transformed {
    F transform;
    template <class... In> HEDDLE_FN T operator()(std::size_t i, const In*... in) const {
        return static_cast<T>(transform(in[i]...));
    }
};

/// Multiplies two elements, which it converts to T first.
template <class T> struct MultiplyAs {
    template <class A, class B> HEDDLE_FN constexpr T operator()(const A& a, const B& b) const {
        return static_cast<T>(static_cast<T>(a) * static_cast<T>(b));
    }
};

/// Returns 1 if the predicate is true, else 0.
template <class T, class Predicate> struct CountsIf {
    Predicate predicate;
    template <class In> HEDDLE_FN T operator()(const In& value) const {
        return static_cast<T>(predicate(value) ? 1 : 0);
    }
};

/// An element and its index. Without an element, the index is `none`.
template <class T> struct Indexed {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    union {
        T value;
        char no_value;
    };
    std::size_t index;

    HEDDLE_FN static Indexed nothing() {
        Indexed made;
        made.index = none;
        return made;
    }
    HEDDLE_FN static Indexed of(const T& value, std::size_t index) {
        Indexed made;
        made.value = value;
        made.index = index;
        return made;
    }
    HEDDLE_FN Indexed() : no_value(0), index(none) {}
};

/// Returns the element that is ordered first; of equal elements, the one with the lower index.
template <class T, class Before> struct FirstOf {
    Before before;
    HEDDLE_FN Indexed<T> operator()(const Indexed<T>& a, const Indexed<T>& b) const {
        if (a.index == Indexed<T>::none) return b;
        if (b.index == Indexed<T>::none) return a;
        if (before(a.value, b.value)) return a;
        if (before(b.value, a.value)) return b;
        return a.index < b.index ? a : b;
    }
};
/// Exchanges the arguments of a function.
template <class F> struct Exchanged {
    F function;
    template <class T> HEDDLE_FN bool operator()(const T& a, const T& b) const {
        return function(b, a);
    }
};

/// Reads the element i of an input together with its index.
template <class T> struct ReadIndexed {
    Indexed<T> operator()(std::size_t i, const T* in) const { return Indexed<T>::of(in[i], i); }
};
/// Returns the index of an element; without an element, 0.
struct IndexOf {
    template <class T> HEDDLE_FN std::size_t operator()(const Indexed<T>& one) const {
        return one.index == Indexed<T>::none ? 0 : one.index;
    }
};

}  // namespace detail
}  // namespace heddle
