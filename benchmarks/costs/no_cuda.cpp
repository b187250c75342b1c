// For builds without CUDA: there are no CUDA devices, so there are no peers.
#include "costs/parts.hpp"

namespace bench {

Peers cuda_peers(heddle::Device) { return {}; }
Peers cuda_peers_of_two(heddle::Device, heddle::Device) { return {}; }
void add_cuda_rows(Report&, heddle::Device) {}

}  // namespace bench
