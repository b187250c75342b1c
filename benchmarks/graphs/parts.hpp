// bench_graphs: heddle's peers on CUDA devices (cuda.cu); there are none on CPU devices.
#pragma once

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

/// One call: the launch of a graph of `nodes` empty kernels, one after the other.
Peer raw_graph_launch(heddle::Device device, int nodes);
/// One call: such a graph is built from nodes and destroyed; with `instantiated`, also instantiated
/// in between.
Peer raw_graph_build(heddle::Device device, int nodes, bool instantiated);
/// One call: new arguments for a graph of one kernel, and its launch.
Peer raw_graph_update(heddle::Device device);
/// One call: a kernel launch.
Peer raw_launch(heddle::Device device);
/// One call: `nodes` launches of an empty kernel on a stream.
Peer raw_launches(heddle::Device device, int nodes);
/// One call: `kernels` launches of a small kernel with two arrays and two numbers, one of which is
/// new each time; with `to_the_end`, also waited for.
Peer raw_small_kernels(heddle::Device device, int kernels, bool to_the_end);

/// One call: a chain of `kernels` that each read their weights and write the previous one's output,
/// waited for; `dependent`: with programmatic dependent launches; `in_graph`: launched as one
/// graph.
Peer raw_dependent_chain(heddle::Device device, int kernels, bool dependent, bool in_graph);

/// One call: `pairs` times a kernel on one stream, a second one on another stream after it, and the
/// first stream after that, waited for; `triggered`: the second kernel waits for a programmatic
/// event that the first one's launch records.
Peer raw_pairs(heddle::Device device, int pairs, bool triggered, bool in_graph);

}  // namespace bench
