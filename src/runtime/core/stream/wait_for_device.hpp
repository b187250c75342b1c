// Waiting for all streams of a device: synchronize_device(), clear_errors().
#pragma once

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle::detail {

/// Blocks until all work enqueued so far on the device's streams has completed. On return, failures
/// that no user can query have been reported: failures of destroyed streams and of the streams of
/// ended branches.
void wait_for_device(Device device, const SourceLocation& where);

}  // namespace heddle::detail
