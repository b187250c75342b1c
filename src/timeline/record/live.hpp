// The recordings that are going on.
#pragma once

#include <functional>

#include "timeline/record/recorder.hpp"

namespace heddle::detail {

/// Between these two calls the recorder is given ranges and names.
void add_live_recorder(TimelineRecorder& recorder);
void remove_live_recorder(TimelineRecorder& recorder) noexcept;
/// Returns whether there are any. Costs one load.
bool has_live_recorders() noexcept;
void for_each_live_recorder(const std::function<void(TimelineRecorder&)>& function);

}  // namespace heddle::detail
