// Exercises of all kinds of calls, run while allocations fail.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle_test {

/// Runs once and returns whether its results were right. Its own allocations never fail.
using Exercise = std::function<bool()>;

struct Scenario {
    std::string name;
    std::function<Exercise()> prepare;
    /// Whether its streams can be poisoned by a lack of memory; a poisoned stream keeps its record
    /// for good.
    bool can_poison = false;
    /// Whether another library allocates too; it may keep its memory.
    bool has_others = false;
};

/// Returns the scenarios of calls that enqueue work, order it and wait for it.
std::vector<Scenario> scenarios();
/// Returns the scenarios of calls that record, allocate, fork and lease.
std::vector<Scenario> recorded_scenarios();

}  // namespace heddle_test
