// Finds work that a thread enqueues, during its own recording, on streams that take no part in the
// recording.
#pragma once

#include <cstdint>
#include <string>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// One bit for each recording of this thread that has an Elsewhere.
inline constinit thread_local std::uint32_t lookouts = 0;
/// Notes that this thread enqueues work on the stream, and that no recorder holds that work back.
[[gnu::cold]] void note_elsewhere(StreamState& stream) noexcept;

/// Observes whether the thread that called begin() enqueues work on other streams before it calls
/// end(). Work of other threads and of host functions does not count.
class Elsewhere {
public:
    /// Begins for a recording on this stream. Streams of the other kind of device do not count.
    void begin(StreamRecord& stream) noexcept;
    /// Returns the name of the first stream that received work since begin(). Returns an empty
    /// string if none did, or if this thread has not called begin(). Throws std::bad_alloc.
    std::string find() const;
    void end() noexcept;

private:
    std::uint64_t serial_ = 0;  ///< serial of the lookout; 0 if there is none
};

}  // namespace heddle::detail
