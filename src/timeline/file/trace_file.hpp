// Keeps a recording in a file, and reads it back.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/base/errors.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// Writes all of a trace. Its indices must lead somewhere (check_trace()), or it cannot be read
/// back. Errors are the stream's: look at its state afterwards.
void write_trace(std::ostream& to, const Trace& trace);

/// Reads a trace to the end of the stream. `name` is the file's, for messages. Throws UsageError if
/// the file is not a whole trace that this version can read, NativeError if it cannot be read.
Trace read_trace(std::istream& from, std::string_view name,
                 const ErrorSite& site = {"read_trace", {}});

}  // namespace heddle::detail
