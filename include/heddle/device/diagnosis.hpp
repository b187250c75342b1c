// The parts of a machine that heddle uses, and heddle's environment variables: for bug reports.
#pragma once

#include <string>
#include <vector>

namespace heddle {

/// A part of the machine that heddle uses or looked for, such as the CUDA driver or NCCL.
struct RuntimePart {
    std::string name;     ///< "CUDA driver"
    std::string found;    ///< its version or number, such as "13.0"; empty if it was not found
    std::string problem;  ///< why heddle cannot use it; empty if heddle can
};

/// Returns the parts that heddle looked for, in a fixed order. Loads the libraries that heddle
/// otherwise loads at their first use (NCCL, CUPTI, NVRTC), and starts the CUDA driver. A part that
/// is missing is no error: its `problem` has the reason. Throws OutOfMemory. Thread-safe.
///
///     for (const RuntimePart& part : runtime_parts())
///         std::printf("%s: %s %s\n", part.name.c_str(), part.found.c_str(), part.problem.c_str());
std::vector<RuntimePart> runtime_parts();

/// An environment variable whose name begins with "HEDDLE_".
struct EnvironmentVariable {
    std::string name;      ///< "HEDDLE_DEVICE"
    std::string value;     ///< not empty
    bool is_read = false;  ///< whether heddle reads a variable of this name
    std::string meant;     ///< the variable that a misspelt name probably means; empty if unknown
};

/// Returns the environment variables whose names begin with "HEDDLE_" and whose values are not
/// empty, by name. Call it while no other thread changes the environment.
std::vector<EnvironmentVariable> environment_variables();

}  // namespace heddle
