#pragma once

// Measures devices for `heddle doctor --measure`.

#include <heddle/device/device.hpp>

namespace heddle::tool {

/// Medians of several measurements. Rates are in GB/s, times in microseconds.
struct Measured {
    double to_device = 0;   ///< copies from pinned host memory
    double to_host = 0;     ///< copies to pinned host memory
    double pageable = 0;    ///< copies from pageable host memory
    double on_device = 0;   ///< copies from an array of the device to another one
    double launch_us = 0;   ///< host time to launch an empty kernel
    double event_us = 0;    ///< host time to record an event
    double wait_us = 0;     ///< host time to make a stream wait for an event
    double wake_up_us = 0;  ///< from the end of a host function to the end of synchronize()
};

/// Measures one device. Takes less than a second on an idle machine. Throws heddle::Error.
Measured measure(Device device);

/// Returns the rate of copies from `from` to `to`, in GB/s. Throws heddle::Error.
double measure_copy(Device to, Device from);

}  // namespace heddle::tool
