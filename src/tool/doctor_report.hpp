#pragma once

// The content of `heddle doctor`: facts about heddle, this machine and its devices.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <heddle/device/device.hpp>
#include <heddle/device/diagnosis.hpp>

#include "doctor_measure.kernel.hpp"

namespace heddle::tool {

/// A name and its text, such as "compiler" and "g++ 12.2.0".
using Fact = std::pair<std::string, std::string>;

struct DeviceReport {
    Device device;
    DeviceInfo info{};
    std::size_t free_memory = 0;
    std::string link;     ///< the PCI link, such as "32.0 GT/s PCIe x16"; empty if unknown
    std::string numa;     ///< the number of its NUMA node; empty if unknown
    std::string problem;  ///< the error if the device could not be queried
    std::vector<Device> peers{}, pools{};
    std::optional<Measured> measured{};
    /// The rates of copies to this device from others, in GB/s.
    std::vector<std::pair<Device, double>> copies{};
};

struct DoctorReport {
    std::vector<Fact> facts;
    std::vector<RuntimePart> parts;
    std::vector<DeviceReport> devices;
    std::string default_device;          ///< empty if there is none
    std::string default_device_problem;  ///< why there is none
    std::vector<EnvironmentVariable> variables;
};

/// How this library was built: the build type, the kind of library and options.
/// CMake writes the source.
extern const char* const build_options;

/// Collects the facts. Errors become parts of the report. `with_measurements`: also measures all
/// devices.
DoctorReport examine(bool with_measurements);

}  // namespace heddle::tool
