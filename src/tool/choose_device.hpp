#pragma once

// Chooses the device that a command works on.

#include <optional>
#include <string>

#include <heddle/device/device.hpp>

namespace heddle::tool {

/// Returns the device named by the option --device, or the default device if `option` is empty. If
/// there is none, reports that and the origin of the name on standard error. Then sets `status`: 2
/// if the name is not one of a device, 1 if this machine has no such device.
std::optional<Device> choose_device(const std::string& option, int& status);

}  // namespace heddle::tool
