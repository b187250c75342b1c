// Exercises that make calls of all kinds. They run while allocations fail.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle_test {

/// Runs once, and returns whether the results were right. Its own allocations never fail.
using Exercise = std::function<bool()>;

struct Scenario {
    std::string name;
    std::function<Exercise()> prepare;
    /// Whether a failed allocation can poison its streams. The record of a poisoned stream is never
    /// reused.
    bool can_poison = false;
    /// Whether another library allocates memory, too, which it may keep.
    bool has_others = false;
};

/// Returns the scenarios of calls that enqueue work, order it and wait for it.
std::vector<Scenario> scenarios();
/// Returns the scenarios of calls that record, allocate, fork and lease.
std::vector<Scenario> recorded_scenarios();

}  // namespace heddle_test
