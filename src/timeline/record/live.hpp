// The recordings that are going on.
#pragma once

#include <functional>
#include <string_view>

#include "timeline/record/recorder.hpp"

namespace heddle::detail {

/// Between these two calls the recorder is given ranges and names.
void add_live_recorder(TimelineRecorder& recorder);
void remove_live_recorder(TimelineRecorder& recorder) noexcept;
/// Returns whether there are any. Costs one load.
bool has_live_recorders() noexcept;
/// The name that the program gave to the calling thread, or "". Long ones are cut.
void keep_thread_name(std::string_view name) noexcept;
std::string_view kept_thread_name() noexcept;
void for_each_live_recorder(const std::function<void(TimelineRecorder&)>& function);

}  // namespace heddle::detail
