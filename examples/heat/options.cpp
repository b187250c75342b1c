#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heat {

namespace hd = heddle;

namespace {

/// Returns the devices that `word` names: a list, or a number. "3" means the first three devices of
/// the default device's kind.
std::vector<hd::Device> devices_of(std::string_view word) {
    const hd::DeviceKind kind = hd::default_device().kind();
    const int there = hd::device_count(kind);
    int count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    std::vector<hd::Device> devices;
    if (error == std::errc() && end == word.data() + word.size()) {
        if (count < 1 || count > there)
            throw WrongUsage(
                "--devices " + std::string(word) + ": there are " + std::to_string(there) +
                (kind == hd::DeviceKind::cpu ? "; HEDDLE_CPU_DEVICES sets how many" : ""));
        for (int i = 0; i < count; ++i) devices.emplace_back(kind, i);
        return devices;
    }
    for (std::size_t begin = 0; begin <= word.size();) {
        const std::size_t comma = std::min(word.find(',', begin), word.size());
        devices.push_back(hd::Device(word.substr(begin, comma - begin)));
        if (devices.back().kind() != devices.front().kind())
            throw WrongUsage("--devices: all of one kind, please");
        begin = comma + 1;
    }
    return devices;
}

/// Arguments of the command line, before conversion to the members of Options.
struct Words {
    std::pair<std::size_t, std::size_t> size;
    std::string devices, halo = "copy";
    bool serial = false;
};

void add_groups(CLI::App& app, Plan& plan) {
    CLI::Option* const graph =
        app.add_option("--graph", plan.graph, "Iterations as graphs of N, an even number")
            ->type_name("N")
            ->check(CLI::Range(2, 10'000));
    app.add_option("--batch", plan.batch, "Iterations in batches of N, an even number")
        ->type_name("N")
        ->check(CLI::Range(2, 10'000))
        ->excludes(graph);
}

void add_options(CLI::App& app, Options& o, Words& words) {
    constexpr int most = 1'000'000'000;
    app.set_help_flag("--help", "Print this help and exit");
    CLI::Option* const size =
        app.add_option("--size", words.size, "Points (512 512), 3 or more each")
            ->type_name("NX NY")
            ->check(CLI::Range(3, 1 << 20));
    app.add_option("--iterations", o.course.iterations, "How many (200)")
        ->type_name("N")
        ->check(CLI::Range(0, most));
    app.add_option("--norm-every", o.course.norm_every,
                   "Take the norm in every Nth iteration (10); 0: never")
        ->type_name("N")
        ->check(CLI::Range(0, most));
    app.add_option("--tolerance", o.course.tolerance, "Stop soon after the norm has come below X")
        ->type_name("X")
        ->check(CLI::Range(0.0, 1e300));
    app.add_option("--devices", words.devices,
                   "cpu:0,cpu:1, or how many (all of the default device's kind). The default\n"
                   "device is HEDDLE_DEVICE's; HEDDLE_CPU_DEVICES=4 makes 4 CPU devices")
        ->type_name("LIST");
    app.add_option("--halo", words.halo,
                   "copy: halo rows are copied (default); direct: kernels store them in the\n"
                   "neighbour's memory")
        ->type_name("HOW")
        ->check(CLI::IsMember({"copy", "direct"}));
    app.add_flag("--serial", words.serial,
                 "No overlap: edges and inside in one kernel, then the halos");
    app.add_flag("--scoped", o.plan.scoped, "Streams in scopes; else each call names its stream");
    add_groups(app, o.plan);
    app.add_option("--runs", o.runs, "The fastest of N runs counts (1)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--check", o.check,
                 "Compare with a run on one device, bit for bit, and small problems with a plain "
                 "loop");
    app.add_option("--input", o.input,
                   "Start from this image (PPM, its size is taken): red is hot, blue is cold")
        ->type_name("FILE")
        ->excludes(size);
    app.add_option("--output", o.output, "Write the result as such an image")->type_name("FILE");
    app.add_flag("--json", o.json, "Print the result as JSON");
    for (CLI::Option* option : app.get_options())
        if (option != size) option->take_last();
    app.footer("GB/s are those of every point read once and written once in each iteration. \"Of "
               "the speed of\ncopying\" is the time of copying the grid as often, divided by the "
               "time taken: 1 is as fast as\ncopying.\n\n"
               "Exit status: 0; 1 when something failed, the check too; 2 for wrong usage.");
}

}  // namespace

std::optional<Options> parse(int argc, char** argv) {
    Options o;
    Words words{.size = {o.problem.nx, o.problem.ny}, .devices = {}};
    CLI::App app("Jacobi iterations on a plate, in strips over several devices.",
                 "example_14_heat");
    add_options(app, o, words);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        app.exit(help);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        throw WrongUsage(error.what());
    }
    if (std::isnan(o.course.tolerance)) throw WrongUsage("--tolerance takes a number");
    if (o.plan.group() % 2 != 0)
        throw WrongUsage("--graph and --batch need an even number: the two halves of memory change "
                         "places");
    o.problem.nx = words.size.first;
    o.problem.ny = words.size.second;
    o.plan.direct = words.halo == "direct";
    o.plan.overlap = !words.serial;
    try {
        o.plan.devices = devices_of(
            words.devices.empty() ? std::to_string(hd::device_count(hd::default_device().kind()))
                                  : words.devices);
    } catch (const hd::Error& error) {
        throw WrongUsage(error.what());
    }
    return o;
}

}  // namespace heat
