// Returns to the pools the memory that streams cache for their later arrays: when a stream ends,
// and when a backend is short of memory. Defined in core/memory (docs/adr/0052).
#pragma once

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Returns the stream's cached memory to the pool, in stream order. From then on, the stream caches
/// no memory. Call before the backend closes the stream.
void trim_kept_memory(StreamRecord& stream) noexcept;
/// Releases to the pool the memory that the streams of the device cache. Returns true if there was
/// any. Thread-safe.
bool trim_kept_memory(Device device) noexcept;

/// A function for trim_pool() that releases other things that are cached for a device. Define it at
/// namespace scope, beside the cache.
class TrimStep {
public:
    explicit TrimStep(void (*run)(Device device) noexcept) noexcept;
    static void run_all(Device device) noexcept;

private:
    void (*run_)(Device) noexcept;
    TrimStep* next_;
};

}  // namespace heddle::detail
