// The command line of all benchmarks.
#pragma once

#include <string>

namespace bench {

struct Options {
    bool quick = false;
    std::string json, only, device;  ///< empty means: no file, all rows, all devices
    double limit_s = 120;            ///< time limit for one row
    double time = 1;                 ///< factor for the time that rows take
};

/// Parses the command line. Exits on --help. On wrong usage, prints an error to standard error and
/// exits with status 2.
Options parse_options(const std::string& program, int argc, char** argv);

}  // namespace bench
