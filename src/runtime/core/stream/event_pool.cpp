#include "core/stream/event_pool.hpp"

#include <memory>

#include "core/base/fork.hpp"
#include "core/base/free_list.hpp"
#include "core/base/ids.hpp"
#include "core/operation/imports.hpp"
#include "core/stream/recorded_calls.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

/// The events that are not in use, for each device and set of options.
using EventPool = FreeList<EventState>;

struct Pools {
    EventPool of[2][max_devices][8];
};

void for_each_pool(void* all, void (SpinLock::*function)() noexcept) {
    for (auto& kind : static_cast<Pools*>(all)->of)
        for (auto& device : kind)
            for (EventPool& pool : device) (pool.lock().*function)();
}

// Never destroyed: events may outlive static destruction.
static_assert(std::is_trivially_destructible_v<Pools>);
constinit Pools event_pools;
const ForkRegistration events_registered{
    ForkOrder::events,
    {&event_pools, [](void* pools) { for_each_pool(pools, &SpinLock::lock); },
     [](void* pools) { for_each_pool(pools, &SpinLock::unlock); }}};

EventPool& pool_of(Device device, EventOptions options) {
    const int set =
        (options.timing ? 1 : 0) | (options.blocking ? 2 : 0) | (options.interprocess ? 4 : 0);
    return event_pools.of[static_cast<int>(device.kind())][device.index()][set];
}

}  // namespace

EventState& take_event(Device device, EventOptions options, const SourceLocation& where) {
    if (EventState* const event = pool_of(device, options).take()) {
        event->owners.store(1, std::memory_order_relaxed);
        event->alive.store(true, std::memory_order_relaxed);
        event->uid = next_id();
        event->records = 0;
        event->noted_on = nullptr;
        return *event;
    }
    auto event = std::make_unique<EventState>();
    event->backend = &backend_of(device.kind());
    event->device = device;
    event->options = options;
    event->uid = next_id();
    event->backend->open_event(*event, where);
    return *event.release();
}

void give_event(EventState& event) noexcept {
    if (event.recorder.load(std::memory_order_acquire) != nullptr) forget_mark(event);
    event.alive.store(false, std::memory_order_relaxed);
    release_event(event);
}

void release_event(EventState& event) noexcept {
    if (event.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!event.owns_native || event.handed_out || event.options.interprocess) {
        // Other processes, or code outside heddle, may still use the native event: it must not be
        // reused.
        if (event.options.interprocess && !event.owns_native) forget_import(event.uid);
        event.backend->close_event(event);
        delete &event;
        return;
    }
    event.backend->forget_record(event);
    event.recorded = false;
    event.in_graph = false;  // no graph node uses it any more
    event.stream = nullptr;
    event.outcome = nullptr;
    event.capture_id = 0;
    pool_of(event.device, event.options).give(event);
}

}  // namespace heddle::detail
