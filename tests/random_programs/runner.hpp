// Runs random programs with heddle, in all the ways in which a program can be run.
#pragma once

#include "reference.hpp"

#include <optional>
#include <string>

namespace heddle_test::programs {

struct RunOptions {
    int pests = 0;           ///< threads that ask and wait meanwhile
    bool alone = true;       ///< no other program runs
    WaitName left_out = {};  ///< a wait that is not done
    int hold_ms = 15;
    int held = -1;  ///< the statement whose stream stands still for a while before it
};

/// What the program came to. Throws what heddle throws.
Outcome run(const Program& p, Mode mode, RunOptions options = {});

/// Why it did not come to what it should; empty if it did.
std::string failure(const Program& p, Mode mode, RunOptions options = {});

}  // namespace heddle_test::programs
