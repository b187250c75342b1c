// Writes a trace to a file, in the format that the file's extension names.
#pragma once

#include <limits>
#include <string>

#include "core/base/errors.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// A stretch of a recording; by default the whole recording.
struct Stretch {
    Moment from = std::numeric_limits<Moment>::min(), to = std::numeric_limits<Moment>::max();
    bool is_all() const noexcept {
        return from == std::numeric_limits<Moment>::min() &&
               to == std::numeric_limits<Moment>::max();
    }
};

enum class OutputFormat { html, json, svg, trace };

/// Returns the format for the extension of `path`. Throws UsageError if the extension is unknown.
OutputFormat format_of(const std::string& path, const ErrorSite& site);

/// Removes everything outside the stretch from the trace. Adds a note that the trace is a part.
/// Throws UsageError if no operation and no range is left.
void cut_to(Trace& trace, const Stretch& stretch, const ErrorSite& site);

/// Writes the stretch to a file. The file appears only when it is complete. Throws UsageError if
/// the extension is unknown or the stretch is empty. Throws NativeError if the file cannot be
/// written.
void write_output(Trace trace, const Stretch& stretch, const std::string& path,
                  const ErrorSite& site);

}  // namespace heddle::detail
