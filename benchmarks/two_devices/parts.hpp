// bench_two_devices: the same work by raw CUDA calls (cuda.cu). CPU devices have no peers.
#pragma once

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

/// The parts of a step. The current device is the first of the two.
enum class Part {
    launch,  ///< a kernel on the second device
    wait,    ///< an event of one device, and a wait of the other device's stream, by turns
    halo,    ///< a copy of a halo from the first device to the second
    norm,    ///< the two kernels of a norm on the first device
};

/// One call is one part. If `to_the_end` is true, a batch also waits for the devices.
Peer raw_part(Part part, heddle::Device first, heddle::Device second, bool to_the_end);

/// One call is two steps. If `in_graph` is true, the steps were captured before, and a call
/// launches their graph. If `to_the_end` is true, a batch also waits for the devices.
Peer raw_steps(heddle::Device first, heddle::Device second, bool in_graph, bool to_the_end);

}  // namespace bench
