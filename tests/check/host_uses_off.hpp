// Functions of a file that is compiled with HEDDLE_HOST_ACCESSES=0.
#pragma once

#include <heddle/memory/array.hpp>

namespace heddle_test {

/// Returns the sum by operator[] plus the sum by a loop, plus the first element by data().
int sum_untold(const heddle::Array<int>& x);
/// Adds `value` to the elements in the same three ways.
heddle::Array<int> add_untold(heddle::Array<int> x, int value);

}  // namespace heddle_test
