// Observers that environment variables start.
#pragma once

#include <atomic>
#include <string_view>

#include <heddle/error.hpp>

namespace heddle::detail {

/// The functions of the library heddle::observe that environment variables need. The library passes
/// them before main(), and before constructors without a priority.
struct EnvironmentObservers {
    /// Start the observer for this value of its variable. Throw UsageError for an invalid value.
    void (*start_timeline)(std::string_view value);
    void (*start_check)(std::string_view value);
    void (*start_watch)(std::string_view value);
};

/// Null in a program that is linked without heddle::observe.
inline constinit const EnvironmentObservers* environment_observers = nullptr;

/// Starts the observers of HEDDLE_TIMELINE, HEDDLE_CHECK, HEDDLE_WATCH and HEDDLE_NVTX. Called when
/// the first stream is made; only the first call has an effect. Passes errors in the variables, and
/// unknown variables that resemble heddle's, to the report hook. Without heddle::observe, reports
/// that the first three have no effect.
void start_observers() noexcept;

/// In a forked child whose parent was watched, the function that continues the watch. Otherwise
/// null.
inline constinit std::atomic<void (*)() noexcept> interrupted_watch{nullptr};

/// Continues the watch of the parent process, if there was one. Costs one load.
inline void resume_watch() noexcept {
    if (const auto resume = interrupted_watch.load(std::memory_order_relaxed)) [[unlikely]]
        resume();
}

/// The status of a program that HEDDLE_CHECK ends.
inline constexpr int status_of_races = 66;

/// Call it if an error prevents the check that `value` of HEDDLE_CHECK requests. If the value
/// contains "exit" or "abort", prints the error and ends the program with status_of_races: status 0
/// would claim that there were no races.
void end_if_check_decides(std::string_view value, const Error& error) noexcept;

/// From now on, names threads, streams and calls for NVIDIA's tools. Throws Unsupported if the
/// build has no NVTX. (cuda/timing/nvtx.cpp, or no_cuda/nvtx.cpp in its place)
void start_nvtx();

}  // namespace heddle::detail
