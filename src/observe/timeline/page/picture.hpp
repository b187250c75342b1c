// The rows of the picture: the threads of the host, then the streams of each device. A row is
// divided into lanes. Bars in one lane do not overlap.
#pragma once

#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

inline constexpr std::uint32_t no_lane = ~std::uint32_t{0};

struct PictureRow {
    bool is_thread = false;
    TraceIndex index = 0;          ///< index of the row's thread or stream
    TraceIndex device = no_index;  ///< for a stream: index of its device
    /// For a thread: the number of lanes for ranges. These lanes are above the lanes for calls.
    std::uint32_t range_lanes = 0;
    std::uint32_t lanes = 0;  ///< number of all lanes; at least 1
};

struct Picture {
    /// One row for each thread that made calls, and each stream on which operations ran or were
    /// dropped.
    std::vector<PictureRow> rows;
    std::size_t empty_streams = 0;  ///< number of streams that have no row
    /// By operation (index in Trace::ops): the lane of its call on its thread's row. no_lane if the
    /// call is not shown.
    std::vector<std::uint32_t> call_lanes;
    /// By range (index in Trace::ranges): its lane, or no_lane.
    std::vector<std::uint32_t> range_lanes;
};

Picture picture_of(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
