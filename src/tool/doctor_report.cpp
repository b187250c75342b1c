#include "doctor_report.hpp"

#include <fstream>
#include <version>  // names the standard library

#include <sys/utsname.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <fmt/format.h>
#include <heddle/error.hpp>
#include <heddle/version.hpp>

#include "text.hpp"

namespace heddle::tool {
namespace {

std::string compiler() {
#if defined(__clang__)
    const std::string name = "clang " __clang_version__;
#else
    const std::string name = "g++ " __VERSION__;
#endif
#if defined(_LIBCPP_VERSION)
    return fmt::format("{}, libc++ {}", one_line(name), _LIBCPP_VERSION);
#elif defined(__GLIBCXX__)
    return fmt::format("{}, libstdc++ {}", one_line(name), __GLIBCXX__);
#else
    return one_line(name);
#endif
}

/// Returns the first line of a file, or an empty string if it cannot be read.
std::string line_of(const std::string& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::string system_name() {
    std::string name;
    std::ifstream release("/etc/os-release");
    constexpr std::string_view key = "PRETTY_NAME=";
    for (std::string line; std::getline(release, line);)
        if (line.starts_with(key)) name = line.substr(key.size());
    std::erase(name, '"');
    if (utsname kernel{}; uname(&kernel) == 0)
        name += fmt::format("{}{} {} {}", name.empty() ? "" : ", ", kernel.sysname, kernel.release,
                            kernel.machine);
#if defined(__GLIBC__)
    name += fmt::format(", glibc {}", gnu_get_libc_version());
#endif
    return one_line(name);
}

/// Sets the PCI link and the NUMA node of a GPU. Reads the kernel's files, which know them without
/// the driver.
void add_link(DeviceReport& report) {
    if (report.info.bus_id.empty()) return;
    std::string address = report.info.bus_id;
    for (char& c : address)
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    const std::string folder = "/sys/bus/pci/devices/" + address + "/";
    const std::string speed = line_of(folder + "current_link_speed");
    const std::string width = line_of(folder + "current_link_width");
    if (!speed.empty()) report.link = fmt::format("{} x{}", speed, width.empty() ? "?" : width);
    if (const std::string node = line_of(folder + "numa_node"); node != "-1") report.numa = node;
}

void measure_all(DeviceReport& report) {
    report.measured = measure(report.device);
    for (const Device other : devices())
        if (other.kind() == report.device.kind() && other != report.device)
            report.copies.emplace_back(other, measure_copy(report.device, other));
}

DeviceReport examine_device(Device device, bool with_measurements) {
    DeviceReport report{.device = device, .link = {}, .numa = {}, .problem = {}};
    try {
        report.info = device.info();
        report.free_memory = device.free_memory();
        add_link(report);
        for (const Device other : devices()) {
            if (other.kind() != device.kind() || other == device) continue;
            if (device.can_access_peer(other)) report.peers.push_back(other);
            if (device.can_access_pool(other)) report.pools.push_back(other);
        }
        if (with_measurements) measure_all(report);
    } catch (const Error& error) {
        report.problem = one_line(error.info().message);
    }
    return report;
}

}  // namespace

DoctorReport examine(bool with_measurements) {
    DoctorReport report;
    report.facts = {{"heddle", HEDDLE_VERSION_TEXT},
                    {"build", build_options},
                    {"compiler", compiler()},
                    {"system", system_name()}};
    report.parts = runtime_parts();
    for (RuntimePart& part : report.parts) part.problem = one_line(part.problem);
    for (const Device device : devices())
        report.devices.push_back(examine_device(device, with_measurements));
    try {
        report.default_device = default_device().name();
    } catch (const Error& error) {
        report.default_device_problem = "HEDDLE_DEVICE: " + one_line(error.info().message);
    }
    report.variables = environment_variables();
    return report;
}

}  // namespace heddle::tool
