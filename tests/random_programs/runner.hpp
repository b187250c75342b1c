// Runs random programs with heddle. Supports every mode.
#pragma once

#include "reference.hpp"

#include <string>

namespace heddle_test::programs {

struct RunOptions {
    int pests = 0;           ///< number of threads that query and wait meanwhile
    bool alone = true;       ///< whether no other program runs
    WaitName left_out = {};  ///< the wait to leave out
    /// The statement whose stream is held before the statement runs. -1 for none. On CPU devices,
    /// the stream continues when `opens` has run, at the latest after hold_ms.
    int held = -1;
    int opens = -1;
    int hold_ms = 30;
};

/// Runs the program and returns its result. Throws heddle's exceptions.
Outcome run(const Program& p, Mode mode, RunOptions options = {});

/// Runs the program. Returns a difference from the expected result, or the text of an exception.
/// Returns an empty string if the result is right.
std::string failure(const Program& p, Mode mode, RunOptions options = {});

}  // namespace heddle_test::programs
