// Writes a recording to a file, and reads it back.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/base/errors.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// Writes all of a trace. A trace with invalid indices (check_trace()) cannot be read back. Errors
/// are reported by the state of the stream.
void write_trace(std::ostream& to, const Trace& trace);

/// Reads a trace to the end of the stream. Error messages mention the file by `name`. Throws
/// UsageError if the file is not a whole trace that this version can read, NativeError if it cannot
/// be read.
Trace read_trace(std::istream& from, std::string_view name,
                 const ErrorSite& site = {"read_trace", {}});

}  // namespace heddle::detail
