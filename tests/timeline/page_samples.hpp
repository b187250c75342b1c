// Made-up recordings for tests of pictures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "timeline/solve/solution.hpp"
#include "timeline/timed_trace.hpp"

namespace heddle_test {

struct Sample {
    Trace trace;
    Solution solution;
};

/// A program in pipeline.cpp, on GPUs that start work 1.9 us after a call or a wait.
struct SampleTrace : TimedTrace {
    SampleTrace()
        : TimedTrace({.call = 2'200,
                      .order = 2'200,
                      .between = 0,
                      .start = 1'900,
                      .start_awake = 1'900,
                      .next = 0,
                      .cross = 1'900,
                      .wake = 4'700}) {
        in_file("/home/user/pipeline/src/pipeline.cpp");
        compute(1'000);
    }
};

/// Returns the recording of the program, and its solution.
Sample solved(TimedTrace& t, const std::string& program);

/// Returns a sample of two streams, with three kernels, a copy and a wait.
Sample tiny_sample();
/// Returns a sample of two devices that read, hash and reduce chunks. It has all kinds of gaps.
Sample realistic_sample();
/// Returns a sample of six streams, with `count` operations that have bars, and some waits.
Sample large_sample(std::size_t count);
/// Returns a sample whose names, places and notes contain code that must not run in the page.
Sample hostile_sample();

/// Returns how often `part` is in `text`.
inline std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++found;
    return found;
}

}  // namespace heddle_test
