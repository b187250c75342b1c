// Memory that was freed on streams and is kept for their later arrays: how it gets back to the
// pools. For streams that end, and for backends when memory is short. Defined in core/memory
// (docs/adr/0052).
#pragma once

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Gives back to the pool, in stream order, what the stream keeps. It keeps nothing from now on.
/// Call it before the backend closes the stream.
void give_memory_back(StreamRecord& stream) noexcept;
/// Gives back what all streams of the device keep. Returns whether there was any. Thread-safe.
bool give_memory_back(Device device) noexcept;

}  // namespace heddle::detail
