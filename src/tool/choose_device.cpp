#include "choose_device.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <heddle/error.hpp>

#include "text.hpp"

namespace heddle::tool {

std::optional<Device> choose_device(const std::string& option, int& status) {
    try {
        return option.empty() ? default_device() : Device(option);
    } catch (const Error& error) {
        std::fflush(stdout);
        // A missing default device means that HEDDLE_DEVICE names a device that does not exist.
        fmt::print(stderr, "heddle: {}: {}\n", option.empty() ? "HEDDLE_DEVICE" : "--device",
                   one_line(error.info().message));
        status = error.code() == ErrorCode::usage ? 2 : 1;
        return std::nullopt;
    }
}

}  // namespace heddle::tool
