// Returns to the pools the memory that streams cache for their later arrays: when a stream ends,
// and when a backend is short of memory. Defined in core/memory (docs/adr/0052).
#pragma once

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Returns the stream's cached memory to the pool, in stream order. The stream caches no memory
/// from now on. Call before the backend closes the stream.
void give_memory_back(StreamRecord& stream) noexcept;
/// Returns the cached memory of all streams of the device. Returns whether there was any.
/// Thread-safe.
bool give_memory_back(Device device) noexcept;

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
