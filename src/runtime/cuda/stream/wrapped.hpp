// Registry of native handles held outside heddle, so that each native stream is one stream of
// heddle's.
#pragma once

#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// Notes that the native handle is held outside heddle: wrapping it returns this record again.
void remember_handle(StreamRecord& stream, const SourceLocation& where);
/// Call before the record is recycled.
void forget_handle(StreamRecord& stream) noexcept;

}  // namespace heddle::detail::cu
