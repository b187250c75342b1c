// The active recordings.
#pragma once

#include <functional>
#include <string_view>

#include "timeline/record/timeline_observer.hpp"

namespace heddle::detail {

/// Registers an observer. It receives ranges and names until it is removed.
void add_live_observer(TimelineObserver& observer);
void remove_live_observer(TimelineObserver& observer) noexcept;
/// Returns whether any observer is registered. Performs a single atomic load.
bool has_live_observers() noexcept;
/// Stores the calling thread's name. A long name is cut. kept_thread_name() returns it, or "" if
/// none was stored.
void keep_thread_name(std::string_view name) noexcept;
std::string_view kept_thread_name() noexcept;
void for_each_live_observer(const std::function<void(TimelineObserver&)>& function);

}  // namespace heddle::detail
