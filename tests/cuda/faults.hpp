// Makes native calls of the CUDA backend fail, or blocks a thread in one, if a test requests it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace heddle_test {

/// Selects which calls count: those of this thread, or those of all other threads.
enum class OfThread : bool { mine, others };

/// Replaces each native call (cuda/device/driver.hpp) by a wrapper, for the rest of the
/// process. Call it before any stream exists: the table must not change while other threads
/// read it.
void install_faults();

/// Starts to count calls, from 1. The k-th call then has no effect and returns `code`, which must
/// not be 0. If k is 0, no call fails.
void fail_call(std::uint64_t k, int code, OfThread whose);

/// Returns the name of the call that failed since the last fail_call() with k != 0. Returns an
/// empty string if there were fewer calls.
std::string failed_call();

/// Selects whether inside_call() acts before or after the driver's own function.
enum class At : bool { begin, end };

/// In the next native call of this name, calls `function` once, on the thread that made the call.
/// A result other than 0 makes the call fail with that code. With At::end, the driver has then run.
void inside_call(std::string name, At when, std::function<int()> function);

/// Returns the number of live streams, graphs and other objects, by kind. An object whose
/// destruction failed counts as destroyed. But an array whose cuMemFreeAsync failed counts as live,
/// because the library retries.
std::map<std::string, long> objects_alive();

}  // namespace heddle_test
