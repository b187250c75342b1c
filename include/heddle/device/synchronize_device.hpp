// Waits for all work of a device.
#pragma once

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Blocks until all work already enqueued on any stream of `device`, by default the current one,
/// has completed. Throws the first failure that a stream of the device has; failures of destroyed
/// streams are passed to the report hook. Throws UsageError in host functions and if the calling
/// thread is capturing a stream of the device.
void synchronize_device(Device device = current_device(), Where where = {});

}  // namespace heddle
