#include "doctor_command.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <heddle/error.hpp>

#include "doctor_report.hpp"
#include "tables.hpp"
#include "text.hpp"
#include "json/json.hpp"

namespace heddle::tool {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

void print_parts(const DoctorReport& report) {
    std::vector<Row> rows;
    for (const auto& [name, text] : report.facts) rows.push_back({name, text});
    for (const RuntimePart& part : report.parts) {
        std::string text = part.found;
        if (!part.problem.empty())
            text += fmt::format("{}not usable: {}", text.empty() ? "" : "; ", part.problem);
        rows.push_back({part.name, text});
    }
    rows.push_back({"default device", report.default_device.empty()
                                          ? "none: " + report.default_device_problem
                                          : report.default_device});
    print_table(rows);
}

void print_devices_of(const DoctorReport& report) {
    std::vector<Row> rows{
        {"device", "name", "memory", "free", "PCI address", "PCI link", "NUMA node"}};
    for (const DeviceReport& d : report.devices)
        rows.push_back({d.device.name(), or_dash(d.info.name), gibibytes(d.info.total_memory),
                        gibibytes(d.free_memory), or_dash(d.info.bus_id), or_dash(d.link),
                        or_dash(d.numa)});
    print("\n");
    print_table(rows);
    for (const DeviceReport& d : report.devices)
        if (!d.problem.empty())
            print(fmt::format("{} does not work: {}\n", d.device.name(), d.problem));
}

std::string two_digits(double value) { return fmt::format("{:.2f}", value); }

void print_measurements(const DoctorReport& report) {
    std::vector<Row> rates{{"GB/s", "to device", "to host", "pageable", "on device"}};
    std::vector<Row> times{{"us", "launch", "event", "wait", "wake-up"}};
    std::vector<Row> copies{{"copy to", "from", "GB/s"}};
    for (const DeviceReport& d : report.devices) {
        if (!d.measured) continue;
        const Measured& m = *d.measured;
        rates.push_back({d.device.name(), two_digits(m.to_device), two_digits(m.to_host),
                         two_digits(m.pageable), two_digits(m.on_device)});
        times.push_back({d.device.name(), two_digits(m.launch_us), two_digits(m.event_us),
                         two_digits(m.wait_us), two_digits(m.wake_up_us)});
        for (const auto& [from, rate] : d.copies)
            copies.push_back({d.device.name(), from.name(), two_digits(rate)});
    }
    for (const auto& table : {rates, times, copies}) {
        if (table.size() == 1) continue;
        print("\n");
        print_table(table);
    }
}

void print_variables(const DoctorReport& report) {
    print("\n");
    if (report.variables.empty()) print("no HEDDLE_ variable is set\n");
    for (const EnvironmentVariable& v : report.variables) {
        std::string note;
        if (!v.meant.empty()) note = fmt::format("  (unknown: did you mean {}?)", v.meant);
        else if (!v.is_read) note = "  (heddle does not read it)";
        print(fmt::format("{}={}{}\n", one_line(v.name), one_line(v.value), note));
    }
}

std::string text_or_null(const std::string& text) {
    return text.empty() ? "null" : json::string(text);
}

std::string names(const std::vector<Device>& devices) {
    std::vector<std::string> all;
    for (const Device device : devices) all.push_back(json::string(device.name()));
    return json::array(all);
}

std::string json_measured(const DeviceReport& report) {
    if (!report.measured) return "null";
    const Measured& m = *report.measured;
    std::vector<std::string> from;
    for (const auto& [device, rate] : report.copies)
        from.push_back(json::object(
            {{"from", json::string(device.name())}, {"gb_per_s", json::number(rate, 3)}}));
    return json::object({{"to_device_gb_per_s", json::number(m.to_device, 3)},
                         {"to_host_gb_per_s", json::number(m.to_host, 3)},
                         {"pageable_gb_per_s", json::number(m.pageable, 3)},
                         {"on_device_gb_per_s", json::number(m.on_device, 3)},
                         {"launch_us", json::number(m.launch_us, 3)},
                         {"event_us", json::number(m.event_us, 3)},
                         {"wait_us", json::number(m.wait_us, 3)},
                         {"wake_up_us", json::number(m.wake_up_us, 3)},
                         {"copies", json::array(from)}});
}

std::string json_device(const DeviceReport& d) {
    return json::object({{"device", json::string(d.device.name())},
                         {"name", text_or_null(d.info.name)},
                         {"total_memory", json::number(d.info.total_memory)},
                         {"free_memory", json::number(d.free_memory)},
                         {"bus_id", text_or_null(d.info.bus_id)},
                         {"pci_link", text_or_null(d.link)},
                         {"numa_node", d.numa.empty() ? "null" : d.numa},
                         {"peers", names(d.peers)},
                         {"pools", names(d.pools)},
                         {"problem", text_or_null(d.problem)},
                         {"measured", json_measured(d)}});
}

void print_json(const DoctorReport& report) {
    std::vector<std::string> parts, all, variables;
    for (const RuntimePart& part : report.parts)
        parts.push_back(json::object({{"name", json::string(part.name)},
                                      {"found", text_or_null(part.found)},
                                      {"problem", text_or_null(part.problem)}}));
    for (const DeviceReport& device : report.devices) all.push_back(json_device(device));
    for (const EnvironmentVariable& v : report.variables)
        variables.push_back(json::object({{"name", json::string(v.name)},
                                          {"value", json::string(v.value)},
                                          {"is_read", json::boolean(v.is_read)},
                                          {"meant", text_or_null(v.meant)}}));
    std::vector<std::pair<std::string_view, std::string>> members;
    for (const auto& [name, text] : report.facts) members.emplace_back(name, json::string(text));
    members.emplace_back("parts", json::array_of_lines(parts));
    members.emplace_back("default", text_or_null(report.default_device));
    members.emplace_back("default_problem", text_or_null(report.default_device_problem));
    members.emplace_back("devices", json::array_of_lines(all));
    members.emplace_back("variables", json::array_of_lines(variables));
    print(json::object(members) + '\n');
}

int run_doctor(bool with_measurements, bool as_json) {
    int status = 0;
    try {
        const DoctorReport report = examine(with_measurements);
        if (as_json) {
            print_json(report);
        } else {
            print_parts(report);
            print_devices_of(report);
            print_access();
            print_measurements(report);
            print_variables(report);
        }
    } catch (const Error& error) {
        fmt::print(stderr, "heddle: doctor: {}\n", one_line(error.info().message));
        status = 1;
    }
    if (!output_written() && status == 0) status = 1;
    return status;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& status) {
    auto with_measurements = std::make_shared<bool>(false);
    auto as_json = std::make_shared<bool>(false);
    CLI::App* command =
        app.add_subcommand("doctor", "Report versions, devices and settings, for a bug report");
    command->footer(
        "Prints how heddle was built; the driver and the libraries that heddle uses, or why it\n"
        "cannot use them; the devices and their links; and the environment variables whose names\n"
        "begin with HEDDLE_, also unknown ones. A missing part is no error.\n\n"
        "With --measure: rates of copies in GB/s (from and to pinned memory, from pageable "
        "memory,\n"
        "within a device, between devices), and times in microseconds: a launch, the record of an\n"
        "event, a wait for it, and a wake-up: from the end of a host function to the end of\n"
        "synchronize().\n\n"
        "Exit status: 0; 1 if the report could not be made or written.");
    command->add_flag("--measure", *with_measurements, "Measure copies and calls of all devices");
    command->add_flag("--json", *as_json, "Print a JSON object");
    command->callback([with_measurements, as_json, &status] {
        status = run_doctor(*with_measurements, *as_json);
    });
}

}  // namespace heddle::tool
