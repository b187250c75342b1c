// Parses the command line.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "plan.hpp"
#include "problem.hpp"

namespace heat {

struct Options {
    Problem problem;
    Course course{.iterations = 200, .norm_every = 10};
    Plan plan;
    int runs = 1;
    bool check = false, json = false;
    std::string input, output;  ///< names of image files
};

/// If help was requested, prints it and returns nullopt. Throws WrongUsage.
std::optional<Options> parse(int argc, char** argv);

struct WrongUsage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace heat
