#include "overlap/parts.hpp"

namespace bench {

Peer raw_overlap(heddle::Device, const StageSizes&, bool) { return {}; }
Peer raw_input(heddle::Device, std::size_t, std::size_t, bool) { return {}; }

}  // namespace bench
