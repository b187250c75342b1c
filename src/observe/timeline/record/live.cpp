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
// Never destroyed, because other threads may still end ranges during static destruction.
constinit NeverDestroyed<std::vector<TimelineObserver*>> observers;
constinit std::atomic<std::size_t> count{0};

/// Trivially destructible, because the name may be read until the very end of the thread.
struct ThreadName {
    char text[128];
    std::size_t size;
};
constinit thread_local ThreadName thread_name{};
}  // namespace

void add_live_observer(TimelineObserver& observer) {
    const std::lock_guard lock(mutex);
    observers.get().push_back(&observer);
    count.store(observers.get().size(), std::memory_order_relaxed);
}

void remove_live_observer(TimelineObserver& observer) noexcept {
    const std::lock_guard lock(mutex);
    std::erase(observers.get(), &observer);
    count.store(observers.get().size(), std::memory_order_relaxed);
}

void keep_thread_name(std::string_view name) noexcept {
    std::size_t size = std::min(name.size(), sizeof thread_name.text);
    const auto is_inside_character = [&] {
        return size < name.size() && size > 0 &&
               (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80;
    };
    while (is_inside_character()) --size;
    thread_name.size = name.copy(thread_name.text, size);
}

std::string_view kept_thread_name() noexcept { return {thread_name.text, thread_name.size}; }

bool has_live_observers() noexcept { return count.load(std::memory_order_relaxed) != 0; }

void for_each_live_observer(const std::function<void(TimelineObserver&)>& function) {
    const std::lock_guard lock(mutex);
    for (TimelineObserver* const one : observers.get()) function(*one);
}

}  // namespace heddle::detail
