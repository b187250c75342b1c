// Obtains start and end times of work on CUDA devices from CUPTI, NVIDIA's library for profilers.
// The device measures the times, including those of graph nodes. The library is loaded when a
// recording requests it. Implemented in src/runtime/cuda/cupti, or in src/runtime/cuda/no_cupti in
// a build without CUPTI's headers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/operation/calls.hpp"
#include <heddle/device/diagnosis.hpp>

namespace heddle::detail::cu {

/// Whether CUPTI records the work that is enqueued now.
inline constinit std::atomic<bool> cupti_is_on{false};
inline bool is_recorded_by_cupti() noexcept { return cupti_is_on.load(std::memory_order_relaxed); }

/// Starts recording. Recording ends after as many calls of end_cupti() as of begin_cupti(). Returns
/// "", or the reason why recording is impossible. Thread-safe.
std::string begin_cupti();
/// Ends a recording. The last end_cupti() reports all records to observers, including those of
/// unfinished work.
void end_cupti() noexcept;

/// Attribute the work that this thread enqueues between the two calls to the operation with this
/// id. Pairs of calls may be nested. pop_cupti_id() may be called after the end of the recording.
void push_cupti_id(std::uint64_t id) noexcept;
void pop_cupti_id() noexcept;

/// Reports finished work to observers, and reads CUPTI's clock. No effect unless CUPTI records.
void tell_cupti_runs() noexcept;
/// Returns the library's version, or the reason why it cannot be used. Loads the library.
RuntimePart cupti_part();

/// Returns the number of records lost since the process began.
RecordCounts cupti_counts() noexcept;

}  // namespace heddle::detail::cu
