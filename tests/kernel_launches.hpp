// Launches of the kernels of kernels.hpp on arrays of int. They are compiled once, by nvcc where
// CUDA is available (kernel_launches.cpp). A test that needs no other kernel includes this header
// instead of kernels.hpp and is compiled as C++, which takes a quarter of the time.
#pragma once

#include <heddle/heddle.hpp>

#include <concepts>

namespace heddle_test::shared {

// Names of the kernels. The launches below are more specialised than heddle's own, so overload
// resolution chooses them.
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
