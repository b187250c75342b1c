// Streams that were closed while they had pending work.
#pragma once

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Recycles a closed stream's record if the stream's work is done. Returns false if it is not.
bool recycle_if_done(Gpu& g, Zombie& zombie) noexcept;

}  // namespace heddle::detail::cu
