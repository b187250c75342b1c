#pragma once

// `heddle timeline run.trace`

#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace heddle::tool {

/// Returns "" if the file's name ends in one of `ends`; otherwise a message. The library chooses
/// formats by these ends.
std::string check_name(std::string_view file, std::span<const std::string_view> ends);

/// Adds the subcommand to `app`. When it runs, sets `status` to the program's exit status: 0 if all
/// was done, 1 if a file could not be read or written. It is 2 for a stretch that ends before it
/// begins.
void add_timeline_command(CLI::App& app, int& status);

}  // namespace heddle::tool
