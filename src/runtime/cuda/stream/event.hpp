// Waits between streams.
#pragma once

#include <cuda_runtime_api.h>

#include "core/seam/records.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

/// Returns the event through which other streams wait for this one. The first call creates the
/// event. Later calls cannot fail.
cudaEvent_t cached_event(StreamRecord& stream, const SourceLocation& where);
/// Enqueues a wait of `waiter` for all work enqueued on `other`. Does not count a submission.
void enqueue_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);

}  // namespace heddle::detail::cu
