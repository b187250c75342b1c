// Files made from a trace, by their extension.
#pragma once

#include <limits>
#include <string>

#include "core/base/errors.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// A stretch of a recording; by default all of it.
struct Stretch {
    Moment from = std::numeric_limits<Moment>::min(), to = std::numeric_limits<Moment>::max();
    bool is_all() const noexcept {
        return from == std::numeric_limits<Moment>::min() &&
               to == std::numeric_limits<Moment>::max();
    }
};

enum class OutputFormat { html, json, svg, trace };

/// Returns the format that the extension of `path` names. Throws UsageError if it names none.
OutputFormat format_of(const std::string& path, const ErrorSite& site);

/// Removes from the trace what is not in the stretch, and notes that it is a part. Throws
/// UsageError if nothing is left of it.
void cut_to(Trace& trace, const Stretch& stretch, const ErrorSite& site);

/// Writes the stretch to a file, which appears when it is complete. Changes the trace. Throws
/// UsageError if the extension names no format or nothing is in the stretch, NativeError if the
/// file cannot be written.
void write_output(Trace trace, const Stretch& stretch, const std::string& path,
                  const ErrorSite& site);

}  // namespace heddle::detail
