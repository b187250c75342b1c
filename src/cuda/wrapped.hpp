// Which native handles others know, so that one native stream is one stream of heddle's.
#pragma once

#include "core/records.hpp"

namespace heddle::detail::cu {

/// Remembers that others hold the native handle: wrapping it gives this record again.
void remember_handle(StreamRecord& stream, const SourceLocation& where);
/// The record is about to go.
void forget_handle(StreamRecord& stream) noexcept;

}  // namespace heddle::detail::cu
