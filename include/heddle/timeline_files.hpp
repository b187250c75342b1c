// What is made of recordings in files. `heddle timeline` is this as a command.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <heddle/location.hpp>

namespace heddle::timeline {

/// Selects a stretch of a recording. Times count from the recording's base, as they do in all that
/// is made from it: the page, the picture and the JSON.
struct ConvertOptions {
    /// Leaves out what ended before; not set: nothing.
    std::optional<std::chrono::nanoseconds> from = {};
    /// Leaves out what began later; not set: nothing.
    std::optional<std::chrono::nanoseconds> to = {};
};

/// Makes a file from a recorded trace. The extension of `output` says which:
/// - .html: a page that shows the timeline, in one file that loads nothing else
/// - .svg: a still picture of it
/// - .json: Chrome's trace format, for ui.perfetto.dev and chrome://tracing
/// - .trace: a trace again, of the stretch
///
/// The file appears when it is complete, and replaces one of that name; after an error, that one is
/// as it was. Throws UsageError for another extension, a stretch without anything in it, or if
/// `trace_file` is no complete trace; NativeError if a file cannot be read or written. Thread-safe.
void convert(const std::string& trace_file, const std::string& output, ConvertOptions options = {},
             Where where = {});

/// Returns what a recorded trace shows, as text of some 60 lines of at most 100 columns: where the
/// time went, for each stream and along the critical path, and the longest waits with their places.
/// Throws as convert() does. Thread-safe.
std::string summary(const std::string& trace_file, ConvertOptions options = {}, Where where = {});

}  // namespace heddle::timeline
