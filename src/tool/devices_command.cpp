#include "devices_command.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <heddle/heddle.hpp>

#include "choose_device.hpp"
#include "tables.hpp"
#include "text.hpp"
#include "json/json.hpp"

namespace heddle::tool {
namespace {

void print_table_of_devices() {
    std::vector<Row> rows{{"device", "name", "memory", "free", "priorities", "copy engines",
                           "processors", "compute capability"}};
    for (const Device device : devices()) {
        const DeviceInfo& info = device.info();
        rows.push_back({device.name(), info.name, gibibytes(info.total_memory),
                        gibibytes(device.free_memory()),
                        fmt::format("{}..{}", info.priorities.least, info.priorities.greatest),
                        device.is_cuda() ? std::to_string(info.copy_engines) : "-",
                        std::to_string(info.processors),
                        device.is_cuda()
                            ? fmt::format("{}.{}", info.compute_major, info.compute_minor)
                            : "-"});
    }
    print_table(rows);
}

/// Prints how much of each device's memory this process uses. Counts only this process's arrays, so
/// usually prints no device.
void print_memory() {
    std::vector<Row> rows{{"arrays", "in use", "peak", "cached", "from cache", "new"}};
    for (const Device device : devices()) {
        const MemoryStats memory = memory_stats(device);
        rows.push_back({device.name(), exact_bytes(memory.in_use), exact_bytes(memory.peak),
                        exact_bytes(memory.cached), std::to_string(memory.cache_hits),
                        std::to_string(memory.cache_misses)});
    }
    print("\n");
    print_table(rows);
}

void print_devices() {
    print_table_of_devices();
    print_memory();
    print_access();
}

void print_default(Device standard) {
    print(fmt::format("\ndefault: {}\n", standard.name()));
    const std::string reason = cuda_unavailable_reason();
    if (!reason.empty()) print(fmt::format("no CUDA devices: {}\n", reason));
}

std::string json_device(Device device) {
    const DeviceInfo& info = device.info();
    const MemoryStats memory = memory_stats(device);
    std::vector<std::string> peers, pools;
    for (const Device other : devices_of(device.kind())) {
        if (other == device) continue;
        if (device.can_access_peer(other)) peers.push_back(json::string(other.name()));
        if (device.can_access_pool(other)) pools.push_back(json::string(other.name()));
    }
    return json::object({
        {"device", json::string(device.name())},
        {"name", json::string(info.name)},
        {"total_memory", json::number(info.total_memory)},
        {"free_memory", json::number(device.free_memory())},
        {"priority_least", json::number(info.priorities.least)},
        {"priority_greatest", json::number(info.priorities.greatest)},
        {"copy_engines", json::number(info.copy_engines)},
        {"processors", json::number(info.processors)},
        {"compute_capability",
         device.is_cuda()
             ? json::string(fmt::format("{}.{}", info.compute_major, info.compute_minor))
             : "null"},
        {"bus_id", json::string(info.bus_id)},
        {"arrays", json::object({
                       {"in_use", json::number(memory.in_use)},
                       {"peak", json::number(memory.peak)},
                       {"held", json::number(memory.cached)},
                       {"hits", json::number(memory.cache_hits)},
                       {"misses", json::number(memory.cache_misses)},
                   })},
        {"peers", json::array(peers)},
        {"pools", json::array(pools)},
    });
}

void print_json(Device standard) {
    std::vector<std::string> all;
    for (const Device device : devices()) all.push_back(json_device(device));
    const std::string reason = cuda_unavailable_reason();
    print(json::object({{"default", json::string(standard.name())},
                        {"cuda_unavailable_reason", reason.empty() ? "null" : json::string(reason)},
                        {"devices", json::array_of_lines(all)}}) +
          '\n');
}

/// Runs the command. If the default device does not exist, still prints the table, because the
/// table helps to correct the device's name. Prints the JSON object only if there is a default
/// device.
int run(bool json) {
    int status = 0;
    try {
        if (!json) print_devices();
        const std::optional<Device> standard = choose_device({}, status);
        if (standard && json) print_json(*standard);
        if (standard && !json) print_default(*standard);
    } catch (const Error& error) {
        fmt::print(stderr, "heddle: devices: {}\n", one_line(error.info().message));
        status = 1;
    }
    if (!output_written() && status == 0) status = 1;
    return status;
}

}  // namespace

void add_devices_command(CLI::App& app, int& status) {
    auto json = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
    command->footer(
        "Priorities are those of a device's streams, least to most urgent. Copy "
        "engines are how many copies "
        "can run\n"
        "beside kernels. Processors are a GPU's multiprocessors, a CPU device's worker "
        "threads. Where there "
        "are\n"
        "several devices of a kind, a table shows which devices can directly access the "
        "memory of which others:\n"
        "peer access is to memory of cudaMalloc(), pool access to memory of heddle's arrays. "
        "Another table shows\n"
        "the memory that this process's arrays use, the memory cached for later arrays, and "
        "how many arrays\n"
        "used cached memory. If there are no CUDA devices, a line states the reason.\n\n"
        "Exit status: 0; 1 if HEDDLE_DEVICE names a device that does not exist, 2 if it "
        "names something else.\n\n"
        "With --json: an object of default, cuda_unavailable_reason (or null) and "
        "devices; sizes in bytes.");
    command->add_flag("--json", *json, "Print a JSON object");
    command->callback([json, &status] { status = run(*json); });
}

}  // namespace heddle::tool
