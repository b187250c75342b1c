// heddle: the command-line program.

#include <CLI/CLI.hpp>

#include "devices_command.hpp"
#include "digest_command.hpp"

int main(int argc, char** argv) {
    constexpr int usage_error = 2;
    int status = 0;
    CLI::App app{"Streams, events and scopes for CUDA and for CPUs, at work."};
    app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
    app.require_subcommand(1);
    heddle::tool::add_digest_command(app, status);
    heddle::tool::add_devices_command(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {  // also --help and --version
        return app.exit(error) == 0 ? 0 : usage_error;
    }
    return status;
}
