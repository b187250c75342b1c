// The command line.
#pragma once

#include <optional>
#include <string>

#include "solver.hpp"

namespace heat {

struct Options {
    Problem problem;
    Course course{.iterations = 200, .norm_every = 10};
    Plan plan;
    int runs = 1;
    bool check = false, json = false, help = false;
    std::string input, output;  ///< names of images
};

std::string usage();

/// Throws WrongUsage.
Options parse(int argc, char** argv);

struct WrongUsage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace heat
