// Device enumeration and properties.
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/base/environment.hpp"
#include "core/base/made_once.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/executor/executor.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail::cpu {

namespace {

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name"))
            if (const std::size_t colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "CPU";
}

/// Returns the value of a line of /proc/meminfo in bytes, or 0 if there is no such line.
std::size_t memory_info(std::string_view key) {
    std::ifstream info("/proc/meminfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with(key))
            return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
    return 0;
}

}  // namespace

int CpuBackend::device_count() noexcept {
    static constinit MadeOnce<EnvironmentNumber> count;
    const auto make = [] {
        return new EnvironmentNumber(Variable::cpu_devices, 1, max_devices, 1);
    };
    try {
        return count.get(make).get();
    } catch (...) {
        // Out of memory: reads the number again at each call.
        return EnvironmentNumber(Variable::cpu_devices, 1, max_devices, 1).get();
    }
}

DeviceInfo CpuBackend::describe(int) {
    return {.name = processor_name(),
            .total_memory = memory_info("MemTotal:"),
            .priorities = {0, 1 - levels},
            .copy_engines = 0,
            .processors = configured_workers(),
            .compute_major = 0,
            .compute_minor = 0,
            .bus_id = {}};
}

std::size_t CpuBackend::free_memory(int) { return memory_info("MemAvailable:"); }

int CpuBackend::concurrent_queues(int) { return configured_workers(); }

}  // namespace heddle::detail::cpu
