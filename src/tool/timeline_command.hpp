#pragma once

// `heddle timeline run.trace`

#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Returns "" if the file's name ends in one of `ends`, by which the library chooses the format.
/// Otherwise returns an error message.
std::string check_name(std::string_view file, std::span<const std::string_view> ends);

/// Adds the subcommand to `app`. When the subcommand runs, it sets `status` to the exit status: 0
/// on success, 1 if a file could not be read or written, and 2 if the stretch ends before it
/// begins.
void add_timeline_command(CLI::App& app, int& status);

}  // namespace heddle::tool
