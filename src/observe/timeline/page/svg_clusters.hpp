// Level of detail: merges adjacent bars that are narrower than a pixel into one cluster.
#pragma once

#include <vector>

#include "timeline/page/look.hpp"
#include "timeline/page/picture.hpp"

namespace heddle::detail {

/// A bar, a call or a range, with its lane.
struct PictureBar {
    Moment start = 0, end = 0;
    BarClass look = BarClass::kernel;
    std::uint32_t item = 0;  ///< index of the bar, the operation or the range
};

struct PictureLane {
    std::size_t row = 0;     ///< index in Picture::rows
    std::uint32_t lane = 0;  ///< index in the row
    bool has_ranges = false;
    std::vector<PictureBar> bars;  ///< in order of time
};

/// The visible stretch of time, and where the picture shows it.
struct TimeScale {
    Moment from = 0, to = 1;
    double left = 0, width = 1;  ///< in pixels
    double x(Moment moment) const {
        return left + width * (static_cast<double>(moment - from) / static_cast<double>(to - from));
    }
};

struct PictureCluster {
    double x0 = 0, x1 = 0;
    std::size_t lane = 0;
    PictureBar bar;  ///< the first bar
    std::size_t bars = 1;
    double share = 1;  ///< fraction of the cluster's time in which something ran
};

/// Returns the lanes of the picture, with the bars that overlap the stretch.
std::vector<PictureLane> lanes_of(const Trace& trace, const Solution& solution,
                                  const Picture& picture, Moment from, Moment to);

/// Merges the lanes' bars into at most `most` clusters. The clusters are as narrow as that limit
/// allows, but at least a pixel wide. A lane with bars has at least one cluster, so there are more
/// than `most` clusters if there are more such lanes.
std::vector<PictureCluster> clusters_of(const std::vector<PictureLane>& lanes,
                                        const TimeScale& scale, std::size_t most);

}  // namespace heddle::detail
