// The mistakes in launches that kernel_mistakes.hpp finds: each is a class whose use does not
// compile.
#pragma once

#include <heddle/detail/mistakes.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Returns a null pointer. sizeof of its pointee is a compile error that names the mistake.
template <class Mistake> constexpr Mistake* is_a() noexcept { return nullptr; }
/// Always false. Some compilers show this name and the types in their messages.
template <class... Types> inline constexpr bool is_launch = false;

// Mistakes in the kernel.
template <class K> struct KernelIsNoObject {
    static_assert(is_launch<K>,
                  "heddle: a function is not a portable kernel: write it as operator() of a struct "
                  "(or launch a __global__ function with grid())");
};
template <class K> struct KernelIsNotCopyable {
    static_assert(
        is_launch<K>,
        "heddle: the kernel is copied to the device as bytes, so the kernel and all captures of a "
        "lambda must be trivially copyable: capture a View, not an Array or a container");
};
template <class K> struct KernelIsNotConst {
    static_assert(is_launch<K>, "heddle: the kernel's operator() is not const: write `void "
                                "operator()(...) const`, or remove `mutable` from the lambda");
};
// Mistakes in the launch.
template <class K> struct StreamIsNotFirst {
    static_assert(is_launch<K>, "heddle: the stream must be the first argument: write "
                                "launch(stream, kernel, dim(n), args...)");
};
template <class K> struct KernelIsNotFirst {
    static_assert(
        is_launch<K>,
        "heddle: the kernel must precede dim(): write launch(stream, kernel, dim(n), args...)");
};
template <class K> struct PointerIsNoStream {
    static_assert(is_launch<K>, "heddle: the first argument is a pointer: pass the Stream itself; "
                                "for a cudaStream_t, pass wrap_stream(native) (heddle/cuda.hpp)");
};
template <class K> struct TextIsNoStream {
    static_assert(
        is_launch<K>,
        "heddle: the first argument is a text, but launches have no label: name the stream, "
        "Stream({.name = ...}), and write launch(stream, kernel, dim(n), args...)");
};
template <class K, class S> struct NumberIsNoShape {
    static_assert(is_launch<K, S>, "heddle: a number is not a launch shape: write dim(n) for n "
                                   "indices (or grid(blocks, threads) for a __global__ function)");
};
template <class K, class S> struct GridIsForGlobal {
    static_assert(is_launch<K, S>,
                  "heddle: a portable kernel is launched with dim(); grid() is for kernels of "
                  "modules and for __global__ functions (include heddle/cuda.hpp)");
};
template <class K, class S> struct ShapeIsMissing {
    static_assert(is_launch<K, S>, "heddle: dim(n), the number of indices, is missing after the "
                                   "kernel: write launch(stream, kernel, dim(n), args...)");
};

}  // namespace detail
}  // namespace heddle
