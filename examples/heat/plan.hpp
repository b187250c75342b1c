// The options of a computation: which devices and methods it uses, and when it ends.
#pragma once

#include <vector>

#include <heddle/device/device.hpp>

namespace heat {

/// How to do the work. The results do not depend on the plan, bit for bit.
struct Plan {
    /// All devices are of one kind. A device may be listed twice. If there are more devices than
    /// bands, the last ones are idle.
    std::vector<heddle::Device> devices;
    /// Whether edges are computed and sent while the inside is computed. If not, one kernel
    /// computes both.
    bool overlap = true;
    /// If true, makes streams current by scopes, and scopes wait for each other. Otherwise, each
    /// call names its stream.
    bool scoped = false;
    /// If true, the neighbour's kernel writes the halos. Otherwise, copies after that kernel write
    /// them.
    bool direct = false;
    /// Numbers of iterations in a graph and in a batch. Each must be even; 0 means no graphs, or no
    /// batches. At most one of them is set.
    int graph = 0, batch = 0;

    /// The number of iterations that are launched together; 0 if each one is launched by itself.
    int group() const { return graph + batch; }
};

/// The iterations to compute.
struct Course {
    int iterations = 0;
    int norm_every = 1;  ///< number of iterations from one norm to the next; 0 means no norms
    /// The run stops soon after the first norm below this value. It stops later by the iterations
    /// whose norms are in flight.
    double tolerance = 0;
};

}  // namespace heat
