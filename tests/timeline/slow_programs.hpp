// Small programs. Each is slow for one known reason, or not at all. For each, the timeline's
// expected headline is listed.
#pragma once

#include <string>
#include <vector>

#include "timeline/timed_trace.hpp"

namespace heddle_test {

/// A program for the device under test. It runs for 10 to 100 ms.
struct SlowProgram {
    std::string name;
    void (*run)();
    Trace (*trace)(const TimedCosts&);      ///< makes up a trace of the program's calls
    std::vector<std::string> says;          ///< texts that the headline must contain
    std::vector<std::string> does_not_say;  ///< texts that it must not contain
    int workers = 1;                        ///< how many a CPU device must have
    bool is_for_gpus = true;                ///< whether a GPU has the same headline
};

const std::vector<SlowProgram>& slow_programs();

}  // namespace heddle_test
