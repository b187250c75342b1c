// Writes a recording to a file, and reads it back.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/base/errors.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// Writes a whole trace. A trace with invalid indices can be written, but not read back (see
/// check_trace()). If writing fails, the state of the stream `to` shows the failure.
void write_trace(std::ostream& to, const Trace& trace);

/// Reads a trace up to the end of the stream. `name` is the file's name for error messages. Throws
/// UsageError if this version cannot read the file or the file is not a whole trace. Throws
/// NativeError if reading fails.
Trace read_trace(std::istream& from, std::string_view name,
                 const ErrorSite& site = {"read_trace", {}});

}  // namespace heddle::detail
