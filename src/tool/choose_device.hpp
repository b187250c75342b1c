#pragma once

// Chooses the device that a command works on.

#include <optional>
#include <string>

#include <heddle/device/device.hpp>

namespace heddle::tool {

/// Returns the device named by the option --device, or the default device if `option` is empty. If
/// there is no such device, prints an error to standard error that says where the name is from, and
/// sets `status`: to 2 if the name does not denote a device, to 1 if this machine lacks the device.
std::optional<Device> choose_device(const std::string& option, int& status);

}  // namespace heddle::tool
