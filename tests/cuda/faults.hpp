// Native calls of the CUDA backend that fail on command.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heddle_test {

enum class OfThread : bool { mine, others };  ///< whose calls are counted: this thread's, or all others'

/// Puts a function of our own in the place of each native call (cuda/driver.hpp), for the rest of the process. Before any stream is made,
/// because the table may not change while others read it.
void install_faults();

/// From now on calls are counted, from 1. The k-th does nothing and answers `code`, which may not be 0; k == 0: none does.
void fail_call(std::uint64_t k, int code, OfThread whose);

/// The name of the call that failed since fail_call() was called with a k; empty if there were fewer calls.
std::string failed_call();

/// How many streams, graphs, ... have been made and not destroyed. What a failed call did not destroy counts as destroyed, but for
/// memory, which is tried again.
std::map<std::string, long> objects_alive();

}  // namespace heddle_test
