// Looks at CPU streams as a debugger does: in copies of their memory, without a lock.
#pragma once

#include "core/base/peek.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail::cpu {

/// Tells what the stream has pending. What is read is followed only once the stream is known not to
/// have moved meanwhile: then it was whole (docs/adr/0055). `read` copies the memory.
Looked look_at_queue(StreamRecord& stream, StreamLook& to, PeekFunction read = &peek);
/// Tells how far the stream has come.
Looked count_queue(StreamRecord& stream, StreamCounts& to, PeekFunction read = &peek) noexcept;

}  // namespace heddle::detail::cpu
