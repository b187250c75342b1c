// Recordings made by hand, for tests of what is drawn.
#pragma once

#include <cstddef>

#include "timeline/sample_maker.hpp"

namespace heddle_test {

/// Two streams, three kernels, a copy and a wait.
Sample tiny_sample();
/// Two devices that read, hash and reduce chunks: waits, gaps of all reasons, a graph, collectives.
Sample realistic_sample();
/// `count` operations on six streams, each with a bar; and waits.
Sample large_sample(std::size_t count);
/// Names, places and notes that try to break out of the page.
Sample hostile_sample();

}  // namespace heddle_test
