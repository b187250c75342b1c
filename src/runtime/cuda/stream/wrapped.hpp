// A registry of native handles held outside heddle. It maps each native stream to one stream of
// heddle.
#pragma once

#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// Records that the native handle is held outside heddle: wrapping the handle then returns this
/// record again.
void remember_handle(StreamRecord& stream, const SourceLocation& where);
/// Call before the record is recycled.
void forget_handle(StreamRecord& stream) noexcept;

}  // namespace heddle::detail::cu
