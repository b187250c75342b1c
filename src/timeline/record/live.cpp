#include "timeline/record/live.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"

namespace heddle::detail {

namespace {
constinit std::mutex mutex;
const ForkRegistration recordings_registered{ForkOrder::recordings, mutex};
// Never destroyed: other threads may end ranges during static destruction.
constinit NeverDestroyed<std::vector<TimelineRecorder*>> recorders;
constinit std::atomic<std::size_t> count{0};
}  // namespace

void add_live_recorder(TimelineRecorder& recorder) {
    const std::lock_guard lock(mutex);
    recorders.get().push_back(&recorder);
    count.store(recorders.get().size(), std::memory_order_relaxed);
}

void remove_live_recorder(TimelineRecorder& recorder) noexcept {
    const std::lock_guard lock(mutex);
    std::erase(recorders.get(), &recorder);
    count.store(recorders.get().size(), std::memory_order_relaxed);
}

bool has_live_recorders() noexcept { return count.load(std::memory_order_relaxed) != 0; }

void for_each_live_recorder(const std::function<void(TimelineRecorder&)>& function) {
    const std::lock_guard lock(mutex);
    for (TimelineRecorder* const one : recorders.get()) function(*one);
}

}  // namespace heddle::detail
