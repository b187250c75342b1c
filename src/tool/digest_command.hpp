#pragma once

// `heddle digest FILE...`

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Adds the subcommand to `app`. When it runs, sets `status` to the program's exit status: 0 if
/// every file was done, 1 if one was not. If the program was interrupted, the status is 128 plus
/// the signal's number.
void add_digest_command(CLI::App& app, int& status);

}  // namespace heddle::tool
