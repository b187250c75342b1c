// For builds without CUDA: there are no CUDA devices, so there are no peers.
#include "arrays/parts.hpp"

namespace bench {

Peers cuda_pool(heddle::Device) { return {}; }
std::size_t cuda_pool_high(heddle::Device) { return 0; }
std::shared_ptr<void> leave_free(heddle::Device, std::size_t) { return nullptr; }

}  // namespace bench
