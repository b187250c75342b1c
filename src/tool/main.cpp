// heddle: the command-line program.

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heddle/version.hpp>

#include "devices_command.hpp"
#include "digest_command.hpp"
#include "doctor_command.hpp"
#include "text.hpp"
#include "timeline_command.hpp"

namespace {

constexpr int usage_error = 2;

/// Returns the message for a missing or unknown command. `argument` is the first argument, or null.
std::string no_command(const CLI::App& app, const char* argument) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands({}))
        names += (names.empty() ? "" : " or ") + command->get_name();
    const std::string wrong = argument == nullptr ? "a command is missing"
                                                  : fmt::format("\"{}\" is not a command",
                                                                heddle::tool::one_line(argument));
    return fmt::format("heddle: {}: write {} (more: heddle --help)\n", wrong, names);
}

/// Returns the message for other wrong usage.
std::string wrong_usage(const CLI::App* app, const CLI::Error& error) {
    std::string command = "heddle";
    for (const CLI::App* used : app->get_subcommands()) command += " " + used->get_name();
    return fmt::format("heddle: {} (more: {} --help)\n", heddle::tool::one_line(error.what()),
                       command);
}

}  // namespace

int main(int argc, char** argv) {
    int status = 0;
    CLI::App app{"Runs heddle's streams and events on CUDA devices and CPUs."};
    app.set_version_flag("--version",
                         "heddle " HEDDLE_VERSION_TEXT " (built " HEDDLE_CUDA_BUILT ")");
    app.require_subcommand(1);
    app.failure_message(wrong_usage);
    app.footer(
        "HEDDLE_DEVICE in the environment names the default device: cpu, cuda, cuda:1, ...\n\n"
        "Exit status: 0 on success; 1 if something failed; 2 for wrong usage, including a name in "
        "an "
        "option\n"
        "or in HEDDLE_DEVICE that is not a device; 128 plus the number of the signal if "
        "interrupted.");
    heddle::tool::add_digest_command(app, status);
    heddle::tool::add_devices_command(app, status);
    heddle::tool::add_doctor_command(app, status);
    heddle::tool::add_timeline_command(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::RequiredError& error) {
        if (!app.get_subcommands().empty()) return app.exit(error), usage_error;
        fmt::print(stderr, "{}", no_command(app, argc > 1 ? argv[1] : nullptr));
        return usage_error;
    } catch (const CLI::ParseError& error) {  // --help and --version also lead here
        if (app.exit(error) != 0) return usage_error;
        return heddle::tool::output_written() ? 0 : 1;
    }
    return status;
}
