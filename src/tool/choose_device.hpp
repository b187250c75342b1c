#pragma once

// The device that a command works on.

#include <optional>
#include <string>

#include <heddle/device.hpp>

namespace heddle::tool {

/// The device named by the option --device; if that is empty, the default device. If there is none, says so on standard
/// error, and where the name came from, and sets `status`: 2 if the name is not one of a device, 1 if this machine has
/// no such device.
std::optional<Device> choose_device(const std::string& option, int& status);

}  // namespace heddle::tool
