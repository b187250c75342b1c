// Converts recorded files. The command `heddle timeline` does the same.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace timeline {

/// Selects a part of a recording. Times count from the recording's base, as in the page, the
/// picture and the JSON.
struct ConvertOptions {
    /// Leaves out everything that ended before this time. By default leaves out nothing.
    std::optional<std::chrono::nanoseconds> from = {};
    /// Leaves out everything that began after this time. By default leaves out nothing.
    std::optional<std::chrono::nanoseconds> to = {};
};

/// Makes a file from a recorded trace:
///
///     timeline::convert("run.trace", "run.svg");
///
/// The extension of `output` selects the format:
/// - .html: a page that shows the timeline, in one file that loads nothing else
/// - .svg: a still picture of the timeline
/// - .json: Chrome's trace format, for ui.perfetto.dev and chrome://tracing
/// - .trace: a trace of the selected part
///
/// The file appears when it is complete, and replaces an existing file of that name. After an error
/// the existing file is unchanged. Throws UsageError for another extension, for a part that is
/// empty or ends before it begins, or if `trace_file` is not a complete trace. Throws NativeError
/// if a file cannot be read or written. Thread-safe.
void convert(const std::string& trace_file, const std::string& output, ConvertOptions options = {},
             Where where = {});

/// Returns a summary of a recorded trace: some 60 lines of at most 100 columns. It shows how the
/// time was spent, for each stream and along the critical path, and the longest waits with their
/// places. Throws as convert() does. Thread-safe.
std::string summary(const std::string& trace_file, ConvertOptions options = {}, Where where = {});

}  // namespace timeline
}  // namespace heddle
