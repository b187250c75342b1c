// Order that the checker does not see. It hides the reported races from ThreadSanitizer.
#pragma once

#include <cstddef>
#include <cstring>

#include <heddle/memory/array.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/stream/stream.hpp>

#include "core/seam/backend.hpp"

namespace heddle_test {

/// Waits for the stream without notifying observers.
inline void wait_unseen(heddle::StreamRef stream) {
    heddle::detail::StreamRecord& record = heddle::detail::record_of(stream);
    record.backend->synchronize(record, {});
}

/// Returns pinned memory that the host has set to zero. Adding up uninitialised values could
/// overflow.
inline heddle::Array<int> pinned_zeros(std::size_t count) {
    heddle::Array<int> made = heddle::pinned<int>(count);
    std::memset(made.view().data(), 0, count * sizeof(int));
    return made;
}

}  // namespace heddle_test
