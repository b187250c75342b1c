// Launches of the kernels in kernels.hpp on arrays of int. kernel_launches.cpp compiles them once,
// with nvcc if CUDA is available. A test that needs no other kernel should include this header
// instead of kernels.hpp. It is then compiled as C++, which takes a quarter of the time.
#pragma once

#include <heddle/heddle.hpp>

#include <concepts>

namespace heddle_test::shared {

// Names for the kernels. The launches below are more specialised than heddle's own, so overload
// resolution prefers them.
enum class Set {};
enum class Add {};
enum class Multiply {};
enum class Iota {};
enum class AddTo {};
enum class CopyKernel {};

template <class K>
concept TakesValue = std::same_as<K, Set> || std::same_as<K, Add> || std::same_as<K, Multiply>;
template <class K>
concept TakesSource = std::same_as<K, AddTo> || std::same_as<K, CopyKernel>;

template <TakesValue K, class To>
void launch_value(heddle::StreamRef stream, const heddle::Dim<1>& d, To& y, int value);
template <class To> void launch_iota(heddle::StreamRef stream, const heddle::Dim<1>& d, To& y);
template <TakesSource K, class From, class To>
void launch_source(heddle::StreamRef stream, const heddle::Dim<1>& d, const From& x, To& y);

template <TakesValue K, class To>
void launch(heddle::StreamRef stream, K, const heddle::Dim<1>& d, To&& y, int value) {
    launch_value<K>(stream, d, y, value);
}
template <TakesValue K, class To> void launch(K, const heddle::Dim<1>& d, To&& y, int value) {
    launch_value<K>(heddle::current_stream(), d, y, value);
}
template <class To> void launch(heddle::StreamRef stream, Iota, const heddle::Dim<1>& d, To&& y) {
    launch_iota(stream, d, y);
}
template <class To> void launch(Iota, const heddle::Dim<1>& d, To&& y) {
    launch_iota(heddle::current_stream(), d, y);
}
template <TakesSource K, class From, class To>
void launch(heddle::StreamRef stream, K, const heddle::Dim<1>& d, From&& x, To&& y) {
    launch_source<K>(stream, d, x, y);
}
template <TakesSource K, class From, class To>
void launch(K, const heddle::Dim<1>& d, From&& x, To&& y) {
    launch_source<K>(heddle::current_stream(), d, x, y);
}

}  // namespace heddle_test::shared

namespace heddle_test {
using namespace shared;
}
