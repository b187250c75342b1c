// Made-up recordings for tests of pictures.
#pragma once

#include <cstddef>

#include "timeline/sample_maker.hpp"

namespace heddle_test {

/// Returns a sample of two streams, with three kernels, a copy and a wait.
Sample tiny_sample();
/// Returns a sample of two devices that read, hash and reduce chunks. It has all kinds of gaps.
Sample realistic_sample();
/// Returns a sample of six streams, with `count` operations that have bars, and some waits.
Sample large_sample(std::size_t count);
/// Returns a sample whose names, places and notes contain code that must not run in the page.
Sample hostile_sample();

}  // namespace heddle_test
