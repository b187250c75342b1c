#pragma once

// `heddle digest FILE...`

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Adds the subcommand to `app`. When it was given, `status` becomes the program's exit status: 0 when every
/// file was done, 1 when one was not, 128 and the signal's number when it was interrupted.
void add_digest_command(CLI::App& app, int& status);

}  // namespace heddle::tool
