// Selects the devices on which a benchmark runs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <heddle/heddle.hpp>

#include "report.hpp"

namespace bench {

/// Returns the device of --device. By default, returns the first device of each kind, beginning
/// with CUDA. Prints the devices, and the reason if there is no GPU. Exits with status 2 if
/// --device or HEDDLE_DEVICE names no device.
inline std::vector<heddle::Device> chosen_devices(const Report& report) {
    std::vector<heddle::Device> chosen;
    try {
        heddle::default_device();  // checks HEDDLE_DEVICE, because rows may use the default device
        if (!report.device().empty()) chosen.push_back(heddle::Device(report.device()));
    } catch (const heddle::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::exit(2);
    }
    if (report.device().empty())
        for (const heddle::Device device : heddle::devices())
            if (device.index() == 0) chosen.push_back(device);
    for (const heddle::Device device : chosen) {
        const heddle::DeviceInfo& info = device.info();
        std::printf("%s: %s, %d %s, %.1f GB\n", device.name().c_str(), info.name.c_str(),
                    info.processors, device.is_cuda() ? "multiprocessors" : "workers",
                    static_cast<double>(info.total_memory) * 1e-9);
    }
    if (heddle::device_count(heddle::DeviceKind::cuda) == 0)
        std::printf("no CUDA device: %s\n", heddle::cuda_unavailable_reason().c_str());
    std::printf("\n");
    return chosen;
}

}  // namespace bench
