#pragma once

// `heddle digest FILE...`

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Adds the subcommand to `app`. When the subcommand runs, it sets `status` to the exit status: 0
/// if every file was digested, and 1 otherwise. If a signal interrupted the program, the status is
/// 128 plus the signal's number.
void add_digest_command(CLI::App& app, int& status);

}  // namespace heddle::tool
