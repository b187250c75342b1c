#pragma once

// `heddle devices`

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Adds the subcommand to `app`. When the subcommand runs, it sets `status` to the exit status.
void add_devices_command(CLI::App& app, int& status);

}  // namespace heddle::tool
