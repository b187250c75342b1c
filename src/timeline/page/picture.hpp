// The rows of the picture: threads of the host, then streams by device. Rows have lanes, in which
// no two bars overlap.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

inline constexpr std::uint32_t no_lane = ~std::uint32_t{0};

struct PictureRow {
    bool is_thread = false;
    TraceIndex index = 0;          ///< index of the thread or the stream
    TraceIndex device = no_index;  ///< device of a stream
    /// For threads: number of lanes for ranges, which are above the lanes for calls.
    std::uint32_t range_lanes = 0;
    std::uint32_t lanes = 0;  ///< number of all lanes; at least 1
};

struct Picture {
    /// Threads that made calls, and streams on which something ran or was dropped.
    std::vector<PictureRow> rows;
    std::size_t empty_streams = 0;  ///< number of streams left out
    /// For each of Trace::ops, the lane of its call on its thread's row. no_lane if it is not shown
    /// there.
    std::vector<std::uint32_t> call_lanes;
    /// For each of Trace::ranges, its lane or no_lane.
    std::vector<std::uint32_t> range_lanes;
};

Picture picture_of(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
