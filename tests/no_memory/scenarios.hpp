// Exercises of all kinds of calls, to be run while memory is missing.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle_test {

/// Runs once, and says whether its results were right. What it allocates itself never fails.
using Exercise = std::function<bool()>;

struct Scenario {
    std::string name;
    std::function<Exercise()> prepare;
    bool can_poison =
        false;  ///< its streams can fail for want of memory, and a stream that failed keeps its record for good
};

/// Calls that give work, order it and wait for it.
std::vector<Scenario> scenarios();
/// Calls that record, allocate, fork and lease.
std::vector<Scenario> recorded_scenarios();

}  // namespace heddle_test
