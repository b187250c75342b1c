// Memory that was freed on streams and is kept for their later arrays: how it gets back to the
// pools. For streams that end, and for backends when memory is short. Defined in core/memory
// (docs/adr/0052).
#pragma once

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Gives back to the pool, in stream order, what the stream keeps. It keeps nothing from now on.
/// Call it before the backend closes the stream.
void give_memory_back(StreamRecord& stream) noexcept;
/// Gives back what all streams of the device keep. Returns whether there was any. Thread-safe.
bool give_memory_back(Device device) noexcept;

/// What trim_pool() calls for what is kept of a device besides memory. Define one at namespace
/// scope, beside what is kept.
class TrimStep {
public:
    explicit TrimStep(void (*run)(Device device) noexcept) noexcept;
    static void run_all(Device device) noexcept;

private:
    void (*run_)(Device) noexcept;
    TrimStep* next_;
};

}  // namespace heddle::detail
