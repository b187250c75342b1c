// The options of a computation: which devices and methods it uses, and when it ends.
#pragma once

#include <vector>

#include <heddle/device/device.hpp>

namespace heat {

/// How to do the work. Results are the same bit for bit, whichever plan is used.
struct Plan {
    /// All of one kind; a device may be listed twice. Devices beyond the number of bands are idle.
    std::vector<heddle::Device> devices;
    /// Whether edges are computed and sent while the inside is computed. If not, one kernel
    /// computes both.
    bool overlap = true;
    /// If true, makes streams current in scopes, which wait. Otherwise, each call names its stream.
    bool scoped = false;
    /// If true, the neighbour's kernel writes the halos. Otherwise, they are copied after it.
    bool direct = false;
    int graph = 0;  ///< number of iterations in a graph, which must be even; 0: no graphs
};

/// The iterations to compute.
struct Course {
    int iterations = 0;
    int norm_every = 1;  ///< every how many iterations a norm is computed; 0: never
    /// The run stops soon after the first norm below this. It does not wait for norms in flight.
    double tolerance = 0;
};

}  // namespace heat
