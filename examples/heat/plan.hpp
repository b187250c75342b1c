// The task, and how to do it.
#pragma once

#include <vector>

#include <heddle/device/device.hpp>

namespace heat {

/// How to do the work. The results do not depend on it, bit for bit.
struct Plan {
    /// All of one kind; one may be named several times. Devices beyond the number of bands idle.
    std::vector<heddle::Device> devices;
    /// Computes edges and halos beside the inside; else one after the other, with one kernel less.
    bool overlap = true;
    /// Makes streams current in scopes, which wait; else each call names its stream.
    bool scoped = false;
    /// The neighbour's kernel stores halos; else they are copied after it.
    bool direct = false;
    int graph = 0;  ///< iterations in a graph, an even number; 0: no graphs
};

/// The iterations to compute.
struct Course {
    int iterations = 0;
    int norm_every = 1;  ///< takes a norm in every so many-th iteration; 0: never
    /// Stops soon after the first norm below it; norms in flight are not waited for.
    double tolerance = 0;
};

}  // namespace heat
