// Frees memory once its users are done.
#pragma once

#include <cstddef>

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Checks up to `at_once` entries of later_frees, and frees the memory whose users are done.
void do_later_frees(Gpu& g, std::size_t at_once) noexcept;

}  // namespace heddle::detail::cu
