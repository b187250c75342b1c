#include "graphs/parts.hpp"

namespace bench {

Peer raw_graph_launch(heddle::Device, int) { return {}; }
Peer raw_graph_build(heddle::Device, int, bool) { return {}; }
Peer raw_graph_update(heddle::Device, int, bool) { return {}; }
Peer raw_launch(heddle::Device) { return {}; }
Peer raw_launches(heddle::Device, int) { return {}; }
Peer raw_small_kernels(heddle::Device, int, bool) { return {}; }
Peer raw_small_graph(heddle::Device, int, bool, bool) { return {}; }
Peer raw_dependent_chain(heddle::Device, int, bool, bool) { return {}; }
Peer raw_pairs(heddle::Device, int, bool, bool) { return {}; }

}  // namespace bench
