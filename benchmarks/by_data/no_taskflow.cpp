#include "by_data/parts.hpp"

namespace bench {

std::vector<Peer> taskflow_patterns(const PatternProgram&, int, std::uint64_t) { return {}; }
std::string why_no_taskflow() {
    return "Taskflow's source is not here: configure with -DHEDDLE_BENCH_TASKFLOW=ON to download "
           "it, or with -DFETCHCONTENT_SOURCE_DIR_TASKFLOW=FOLDER";
}

}  // namespace bench
