// The algorithms of random programs. Their source is compiled as CUDA if CUDA is enabled.
#pragma once

#include "program.hpp"

#include <heddle/by_data.hpp>

namespace heddle_test::programs {

/// Enqueues an algorithm. `from` is empty unless the algorithm is a reduce.
void enqueue_algorithm(StreamRef on, AlgorithmKind kind, Word b, View<const int> from,
                       View<int> to);
void enqueue_algorithm(DataOrder& on, AlgorithmKind kind, Word b, View<const int> from,
                       View<int> to);

}  // namespace heddle_test::programs
