// Runs random programs with heddle, in every mode.
#pragma once

#include "reference.hpp"

#include <optional>
#include <string>

namespace heddle_test::programs {

struct RunOptions {
    int pests = 0;           ///< threads that query and wait meanwhile
    bool alone = true;       ///< no other program runs
    WaitName left_out = {};  ///< the wait to leave out
    int hold_ms = 15;
    /// The statement before which its stream is held for hold_ms, or -1.
    int held = -1;
};

/// Runs the program and returns its result. Throws heddle's exceptions.
Outcome run(const Program& p, Mode mode, RunOptions options = {});

/// Runs the program. Returns how its result differs from the expected one, or the exception's text,
/// or an empty string.
std::string failure(const Program& p, Mode mode, RunOptions options = {});

}  // namespace heddle_test::programs
