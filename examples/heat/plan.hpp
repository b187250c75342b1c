// What is to be done, and how.
#pragma once

#include <vector>

#include <heddle/device/device.hpp>

namespace heat {

/// How the work is done. The results are the same whatever is chosen, bit for bit.
struct Plan {
    /// Of one kind; one may be named several times. More than there are bands are left out.
    std::vector<heddle::Device> devices;
    /// The edges and the halos beside the inside; else one after the other, with one kernel less.
    bool overlap = true;
    /// Streams are made current in scopes, which wait; else each call names its stream.
    bool scoped = false;
    /// Halos are stored by the neighbour's kernel; else copied after it.
    bool direct = false;
    int graph = 0;  ///< iterations in a graph, an even number; 0: no graphs
};

/// What is to be done.
struct Course {
    int iterations = 0;
    int norm_every = 1;  ///< a norm is taken in every so many-th iteration; 0: never
    /// Stop soon after the first norm below it: those that are on their way are not waited for.
    double tolerance = 0;
};

}  // namespace heat
