// Functions of a file that is compiled without checks of indices.
#pragma once

#include <heddle/heddle.hpp>

namespace heddle_test {

/// Returns an element of the view.
int element_unchecked(heddle::View<int> view, std::size_t index);
/// Adds 1 to the first `count` elements with a kernel if `stream` is a CPU stream. Otherwise, does
/// nothing.
void launch_unchecked(heddle::StreamRef stream, heddle::View<int> view, std::size_t count);

}  // namespace heddle_test
