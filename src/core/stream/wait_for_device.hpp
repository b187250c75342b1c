// Waiting for all streams of a device: synchronize_device(), clear_errors().
#pragma once

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle::detail {

/// Blocks until all work enqueued so far on the device's streams has completed. On return the
/// failures have been reported that only destroyed streams have, or streams of branches that have
/// ended, which nobody asks.
void wait_for_device(Device device, const SourceLocation& where);

}  // namespace heddle::detail
