// Times of CUDA devices by CUPTI, NVIDIA's library for profilers: the starts and ends that the
// device saw, also of the nodes of graphs. The library is loaded when a recording asks for it.
// Implemented in src/cuda/cupti, or in src/cuda/no_cupti in a build without CUPTI's headers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/observe/calls.hpp"

namespace heddle::detail::cu {

/// Whether CUPTI records what is enqueued now.
inline constinit std::atomic<bool> cupti_is_on{false};
inline bool is_recorded_by_cupti() noexcept { return cupti_is_on.load(std::memory_order_relaxed); }

/// Begins to record, until as many calls of end_cupti(). Returns "", or why it cannot. Thread-safe.
std::string begin_cupti();
/// Tells observers what is recorded so far.
void end_cupti() noexcept;

/// Between these two calls, what this thread enqueues belongs to the operation with this id. Pairs
/// of calls nest. A pair may reach beyond the end of the recording.
void push_cupti_id(std::uint64_t id) noexcept;
void pop_cupti_id() noexcept;

/// Tells observers of what has ended, and reads CUPTI's clock. Does nothing unless CUPTI records.
void tell_cupti_runs() noexcept;
/// Returns what was lost since the process began.
RecordCounts cupti_counts() noexcept;

}  // namespace heddle::detail::cu
