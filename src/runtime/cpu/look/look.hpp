// Looks at CPU streams as a debugger does: reads copies of their memory, without a lock.
#pragma once

#include "core/base/peek.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail::cpu {

/// Describes the stream's pending work. Follows a copied pointer only after checking that the
/// stream has not advanced, because only then is the copy consistent (docs/adr/0055). `read` copies
/// memory.
Looked look_at_queue(StreamRecord& stream, StreamLook& to, PeekFunction read = &peek);
/// Returns the progress of the stream in `to`.
Looked count_queue(StreamRecord& stream, StreamCounts& to, PeekFunction read = &peek) noexcept;

}  // namespace heddle::detail::cpu
