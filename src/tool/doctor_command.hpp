#pragma once

// `heddle doctor`

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Adds the subcommand to `app`. When the subcommand runs, it sets `status` to the exit status.
void add_doctor_command(CLI::App& app, int& status);

}  // namespace heddle::tool
