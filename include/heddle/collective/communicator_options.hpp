// Options of communicators.
#pragma once

#include <chrono>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Options of a Communicator.
struct CommunicatorOptions {
    /// How long the constructor waits for the other ranks, then again for NCCL, and how long
    /// Communicator::synchronize() waits for the stream. 0 is no limit; a negative time is refused
    /// (UsageError).
    std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

}  // namespace heddle
