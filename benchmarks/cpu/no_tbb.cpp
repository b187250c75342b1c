#include "cpu/parts.hpp"

namespace bench {

std::vector<Peer> tbb_chains() { return {}; }
std::vector<Peer> tbb_graphs() { return {}; }
std::vector<Peer> tbb_queues(int, std::uint64_t) { return {}; }
std::vector<Peer> tbb_fork_joins(int, std::uint64_t) { return {}; }
std::vector<Peer> tbb_wakes() { return {}; }

}  // namespace bench
