#pragma once

// `heddle timeline run.trace`

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Adds the subcommand to `app`. When it runs, sets `status` to the program's exit status: 0 if all
/// was done, 1 if a file could not be read or written, 2 for a stretch that ends before it begins.
void add_timeline_command(CLI::App& app, int& status);

}  // namespace heddle::tool
