// Small programs, each slow for one known reason or for none, and what the timeline's headline has
// to say of them.
#pragma once

#include <string>
#include <vector>

#include "timeline/timed_costs.hpp"
#include "timeline/trace.hpp"

namespace heddle_test {

/// A program for the test device, which takes some 10 to 100 ms.
struct SlowProgram {
    std::string name;
    void (*run)();
    heddle::detail::Trace (*trace)(const TimedCosts&);  ///< of the same calls
    std::vector<std::string> says;                      ///< parts of the headline
    std::vector<std::string> does_not_say;              ///< what must not be in it
    int workers = 1;                                    ///< that it needs on a CPU device
    bool is_for_gpus = true;  ///< whether the headline is the same on a GPU
};

const std::vector<SlowProgram>& slow_programs();

}  // namespace heddle_test
