// bench_graphs: implementations without heddle, for comparison, on CUDA devices (cuda.cu). CPU
// devices have none.
#pragma once

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

/// One call launches a graph of `nodes` empty kernels, which run one after the other.
Peer raw_graph_launch(heddle::Device device, int nodes);
/// One call builds a chain of `nodes` empty kernels from nodes, instantiates the graph if
/// `instantiated` is true, and destroys it.
Peer raw_graph_build(heddle::Device device, int nodes, bool instantiated);
/// One call changes the argument of every kernel in a chain of `nodes` empty kernels, and launches
/// the graph. If `to_the_end` is true, the call also waits for the graph.
Peer raw_graph_update(heddle::Device device, int nodes, bool to_the_end);
/// One call launches a kernel.
Peer raw_launch(heddle::Device device);
/// One call makes `nodes` launches of an empty kernel on a stream.
Peer raw_launches(heddle::Device device, int nodes);
/// One call makes `kernels` launches of a small kernel. The kernel's arguments are two arrays,
/// their size, and two numbers, one of which differs in each launch. If `to_the_end` is true, the
/// call also waits for the kernels.
Peer raw_small_kernels(heddle::Device device, int kernels, bool to_the_end);
/// Like raw_small_kernels(), but one call launches a graph that was built from the kernels before.
/// If `changed` is true, the call first changes the arguments of every kernel.
Peer raw_small_graph(heddle::Device device, int kernels, bool changed, bool to_the_end);

/// One call runs a chain of `kernels` kernels, and waits. Each kernel reads its weights and
/// overwrites the previous output. `dependent`: uses programmatic dependent launches. `in_graph`:
/// launches the chain as one graph.
Peer raw_dependent_chain(heddle::Device device, int kernels, bool dependent, bool in_graph);

/// One call runs `pairs` pairs of kernels, and waits. The first kernel of a pair is on one stream.
/// The second kernel follows it on another stream, and the first stream waits for that. If
/// `triggered` is true, the second kernel waits for a programmatic event of the first kernel's
/// launch.
Peer raw_pairs(heddle::Device device, int pairs, bool triggered, bool in_graph);

}  // namespace bench
