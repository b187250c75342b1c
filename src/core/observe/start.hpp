// Observers that environment variables ask for.
#pragma once

#include <atomic>
#include <string_view>

namespace heddle::detail {

/// Starts what HEDDLE_TIMELINE, HEDDLE_CHECK, HEDDLE_WATCH and HEDDLE_NVTX ask for. The first call
/// counts; it comes when the first stream is made. (src/timeline/record/start.cpp) What is wrong in
/// the variables goes to the report hook, and so do variables that were meant to be heddle's.
void start_observers() noexcept;

/// Starts the check that this value of HEDDLE_CHECK asks for; it ends with the process. Throws
/// UsageError for a word that it does not know, unless "exit" or "abort" is among the others: then
/// the program ends with the status of one that has races. (src/check/start.cpp)
void start_check(std::string_view value);

/// Starts the watch that this value of HEDDLE_WATCH asks for. Throws UsageError for a value that it
/// does not know. (src/watch/start.cpp)
void start_watch(std::string_view value);
/// Whether a watch of the parent process is to go on in this one, and lets it. Costs one load.
inline constinit std::atomic<bool> is_watch_interrupted{false};
void resume_watch() noexcept;

/// Names threads, streams and calls for NVIDIA's tools, from now on. Throws Unsupported if the
/// build has no NVTX. (src/cuda/observe/nvtx.cpp, or src/no_cuda/nvtx.cpp in its place)
void start_nvtx();

}  // namespace heddle::detail
