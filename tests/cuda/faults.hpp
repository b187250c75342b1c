// Makes native calls of the CUDA backend fail on demand.
#pragma once

#include <cstdint>
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

/// Returns how many streams, graphs and so on have been created and not destroyed. Objects whose
/// destruction failed count as destroyed, except arrays freed by cuMemFreeAsync, which the library
/// retries.
std::map<std::string, long> objects_alive();

}  // namespace heddle_test
