// Smaller programs that fail as well.
#pragma once

#include "program.hpp"

#include <functional>

namespace heddle_test::programs {

/// Leaves out statements as long as `fails` says that it still fails, and the model that the rest is determined.
Program shrunken(Program program, Mode mode, const std::function<bool(const Program&)>& fails);

}  // namespace heddle_test::programs
