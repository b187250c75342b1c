// Streams that were closed while they had work.
#pragma once

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Recycles a closed stream's record if its work is done. Returns false if it is not yet.
bool recycle_if_done(Gpu& g, Zombie& zombie) noexcept;

}  // namespace heddle::detail::cu
