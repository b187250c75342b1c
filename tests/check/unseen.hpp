// Order that the checker does not see, so that what it calls a race is none for ThreadSanitizer.
#pragma once

#include <heddle/stream/stream.hpp>

#include "core/seam/backend.hpp"

namespace heddle_test {

/// Waits for the stream without telling observers.
inline void wait_unseen(heddle::StreamRef stream) {
    heddle::detail::StreamRecord& record = heddle::detail::record_of(stream);
    record.backend->synchronize(record, {});
}

}  // namespace heddle_test
