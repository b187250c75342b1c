#include "by_data/parts.hpp"

namespace bench {

std::vector<Peer> tbb_patterns(const PatternProgram&, int, std::uint64_t) { return {}; }
std::string why_no_tbb() { return "oneTBB is not installed"; }

}  // namespace bench
