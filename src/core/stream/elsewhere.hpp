// What a thread enqueues past a recording that it has begun: on streams that take no part in it.
#pragma once

#include <cstdint>
#include <string>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// A bit for each recording of this thread that wants to know.
inline constinit thread_local std::uint32_t lookouts = 0;
/// Notes that this thread enqueues something on the stream, which runs it at once.
[[gnu::cold]] void note_elsewhere(StreamState& stream) noexcept;

/// Sees whether the thread that has called begin() gives work to other streams before it calls
/// end(). What other threads give them does not count, nor what host functions do.
class Elsewhere {
public:
    /// For a recording on this stream. Streams of the other kind of device do not count.
    void begin(StreamRecord& stream) noexcept;
    /// Returns the name of the first stream that was given something since begin(); empty if none
    /// was, or this thread has not called begin(). Throws std::bad_alloc.
    std::string find() const;
    void end() noexcept;

private:
    std::uint64_t serial_ = 0;  ///< of the lookout; 0: none
};

}  // namespace heddle::detail
