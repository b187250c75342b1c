// The command line of all benchmarks.
#pragma once

#include <string>

namespace bench {

struct Options {
    bool quick = false;
    std::string json, only, device;  ///< empty: none, all
    double limit_s = 120;            ///< for one row
    double time = 1;                 ///< share of their time that rows take
};

/// Parses the command line. Exits on --help, and with status 2 on wrong usage, after an error on
/// standard error.
Options parse_options(const std::string& program, int argc, char** argv);

}  // namespace bench
