// Shrinks failing programs.
#pragma once

#include "program.hpp"

#include <functional>

namespace heddle_test::programs {

/// Leaves out statements as long as `fails` returns true and the model finds no race.
Program shrunken(Program program, Mode mode, const std::function<bool(const Program&)>& fails);

}  // namespace heddle_test::programs
