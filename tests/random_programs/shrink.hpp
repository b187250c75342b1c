// Shrinks failing programs.
#pragma once

#include "program.hpp"

#include <functional>

namespace heddle_test::programs {

/// Leaves out statements while `fails` returns true for the rest and the model finds no race in it.
Program shrunken(Program program, Mode mode, const std::function<bool(const Program&)>& fails);

}  // namespace heddle_test::programs
