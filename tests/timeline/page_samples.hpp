// Made-up recordings, for tests of drawings.
#pragma once

#include <cstddef>

#include "timeline/sample_maker.hpp"

namespace heddle_test {

/// Returns two streams with three kernels, a copy and a wait.
Sample tiny_sample();
/// Returns two devices that read, hash and reduce chunks: waits, all gaps, a graph, collectives.
Sample realistic_sample();
/// Returns `count` operations on six streams, each with a bar; and waits.
Sample large_sample(std::size_t count);
/// Returns names, places and notes that try to break out of the page.
Sample hostile_sample();

}  // namespace heddle_test
