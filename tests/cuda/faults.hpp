// Makes native calls of the CUDA backend fail on demand, or holds a thread inside one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace heddle_test {

/// Selects whether calls of this thread or of all other threads count.
enum class OfThread : bool { mine, others };

/// Replaces each native call (cuda/device/driver.hpp) by a wrapper, for the rest of the process.
/// Call before any stream is created, because the table must not change while other threads read
/// it.
void install_faults();

/// Starts counting calls from 1. The k-th call does nothing and returns `code`, which must not be
/// 0. With k == 0 no call fails.
void fail_call(std::uint64_t k, int code, OfThread whose);

/// Returns the name of the call that failed since fail_call() was last called with k != 0, or an
/// empty string if there were fewer calls.
std::string failed_call();

/// Selects whether inside_call() acts before or after the driver's own function.
enum class At : bool { begin, end };

/// Calls `function` once, inside the next native call of this name, on the thread that makes it. If
/// it returns anything but 0, the call fails with that code; at its end it has had its effect.
void inside_call(std::string name, At when, std::function<int()> function);

/// Returns how many streams, graphs and so on have been created and not destroyed. Objects whose
/// destruction failed count as destroyed, except arrays freed by cuMemFreeAsync, which the library
/// retries.
std::map<std::string, long> objects_alive();

}  // namespace heddle_test
