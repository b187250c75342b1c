// Observers that environment variables start.
#pragma once

#include <atomic>
#include <string_view>

namespace heddle::detail {

/// Starts the observers of HEDDLE_TIMELINE, HEDDLE_CHECK, HEDDLE_WATCH and HEDDLE_NVTX. Called when
/// the first stream is made; only the first call has an effect. (src/timeline/record/start.cpp)
/// Passes errors in the variables, and unknown variables that resemble heddle's, to the report
/// hook.
void start_observers() noexcept;

/// Starts the check for this value of HEDDLE_CHECK. The check ends with the process. For an unknown
/// word, throws UsageError; but if the value also contains "exit" or "abort", ends the program with
/// the same status as for races. (src/check/start.cpp)
void start_check(std::string_view value);

/// Starts the watch for this value of HEDDLE_WATCH. Throws UsageError for an unknown value.
/// (src/watch/start.cpp)
void start_watch(std::string_view value);
/// Whether a watch of the parent process must continue in this process. resume_watch() continues
/// it. Costs one load.
inline constinit std::atomic<bool> is_watch_interrupted{false};
void resume_watch() noexcept;

/// From now on, names threads, streams and calls for NVIDIA's tools. Throws Unsupported if the
/// build has no NVTX. (src/cuda/observe/nvtx.cpp, or src/no_cuda/nvtx.cpp in its place)
void start_nvtx();

}  // namespace heddle::detail
