// Small programs, each slow for one known reason or for none, and the expected headline of the
// timeline.
#pragma once

#include <string>
#include <vector>

#include "timeline/timed_costs.hpp"
#include "timeline/trace.hpp"

namespace heddle_test {

/// A program for the test device. It takes some 10 to 100 ms.
struct SlowProgram {
    std::string name;
    void (*run)();
    heddle::detail::Trace (*trace)(const TimedCosts&);  ///< of the same calls
    std::vector<std::string> says;                      ///< parts that the headline must have
    std::vector<std::string> does_not_say;              ///< parts that it must not have
    int workers = 1;                                    ///< minimum on a CPU device
    bool is_for_gpus = true;  ///< whether the headline is the same on a GPU
};

const std::vector<SlowProgram>& slow_programs();

}  // namespace heddle_test
