#include "core/registry.hpp"

#include <array>

#include "core/fork.hpp"
#include "core/recording.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

constexpr int slab_size = 128;
constexpr int least_free = 1024;  // closed streams before a record is used again
constexpr int max_slabs = 1 << 16;

/// Where event states wait for their next use: one list for each device and each set of options.
struct EventPool {
    SpinLock lock;
    EventState* free = nullptr;
};

struct Registry {
    std::mutex mutex;  ///< guards the free list and growth
    /// Records wait their turn here, oldest first: a StreamRef that outlives its stream finds it dead for a good while.
    struct Free {
        StreamRecord* first = nullptr;
        StreamRecord* last = nullptr;
        int count = 0;
    } free[2];
    std::atomic<int> slabs{0};
    std::array<std::atomic<StreamRecord*>, max_slabs> slab{};
    std::atomic<std::uint64_t> next_id{1};
    EventPool events[2][max_devices][8];
};

void for_each_pool(void* all, void (SpinLock::*function)() noexcept) {
    for (auto& kind : static_cast<Registry*>(all)->events)
        for (auto& device : kind)
            for (EventPool& pool : device) (pool.lock.*function)();
}

Registry& registry() {
    static auto* const instance = [] {
        auto* made = new Registry;  // never destroyed: streams may outlive static destruction
        register_fork_lock(ForkOrder::registry, made->mutex);
        register_fork_lock(ForkOrder::events, {made, [](void* all) { for_each_pool(all, &SpinLock::lock); },
                                               [](void* all) { for_each_pool(all, &SpinLock::unlock); }});
        return made;
    }();
    return *instance;
}

void push(Registry::Free& free, StreamRecord& stream) noexcept {
    stream.next_free = nullptr;
    (free.last != nullptr ? free.last->next_free : free.first) = &stream;
    free.last = &stream;
    ++free.count;
}

EventPool& pool_of(Device device, EventOptions options) {
    const int set = (options.timing ? 1 : 0) | (options.blocking ? 2 : 0) | (options.interprocess ? 4 : 0);
    return registry().events[static_cast<int>(device.kind())][device.index()][set];
}

}  // namespace

StreamState& null_stream() noexcept {
    static auto* const instance = new StreamRecord;  // dead, as made
    return *instance;
}

StreamRecord& new_stream_record(Device device) {
    Registry& all = registry();
    const int kind = static_cast<int>(device.kind());
    StreamRecord* record = nullptr;
    {
        const std::lock_guard lock(all.mutex);
        if (all.free[kind].count < least_free) {
            const int index = all.slabs.load();
            if (index == max_slabs)
                throw_error({.code = ErrorCode::out_of_memory,
                             .message = "too many streams",
                             .call = "Stream",
                             .device = device});
            auto* slab = new StreamRecord[slab_size];
            all.slab[static_cast<std::size_t>(index)].store(slab, std::memory_order_release);
            all.slabs.store(index + 1, std::memory_order_release);
            for (int i = 0; i < slab_size; ++i) push(all.free[kind], slab[i]);
        }
        Registry::Free& free = all.free[kind];
        record = std::exchange(free.first, free.first->next_free);
        if (free.first == nullptr) free.last = nullptr;
        --free.count;
    }
    record->id.store(all.next_id.fetch_add(1));
    record->device = device;
    record->backend = &backend_of(device.kind());
    record->flags.store(stream_flag::dead);
    record->submissions.store(0);
    record->waited.forget();
    record->dependencies.clear();
    record->owns_native = true;
    record->owners.store(1);
    return *record;
}

StreamRecord& open_stream(Device device, int priority, std::string name, const SourceLocation& where) {
    const int processors = device.info().processors;  // may fail: asked for before there is something to undo
    StreamRecord& record = new_stream_record(device);
    record.priority = priority;
    record.name = std::move(name);
    try {
        record.backend->open_stream(record, where);
    } catch (...) {
        recycle_stream(record);
        throw;
    }
    record.processors = static_cast<unsigned>(std::max(1, processors));
    record.clear(stream_flag::dead);
    return record;
}

void close_stream(StreamRecord& stream) noexcept {
    if (stream.has(stream_flag::dead)) return;
    if (stream.owners.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;  // its handle was wrapped: others own it too
    if (stream.has(stream_flag::recording)) {
        try {
            if (stream.lane == 0) send_batch_of(stream, {});
        } catch (...) {
            report(std::current_exception());
        }
        leave_recording(stream);
    }
    stream.set(stream_flag::dead);
    if (!stream.has(stream_flag::forked)) stream.backend->close_stream(stream);
}

void recycle_stream(StreamRecord& stream) noexcept {
    // A failed stream keeps its record: others may still have to ask it why.
    if (stream.failure != nullptr) return;
    Registry& all = registry();
    const int kind = static_cast<int>(stream.device.kind());
    const std::lock_guard lock(all.mutex);
    push(all.free[kind], stream);
}

void forget_free_streams() noexcept { registry().free[0] = registry().free[1] = {}; }

void for_each_stream(const std::function<void(StreamRecord&)>& function) {
    Registry& all = registry();
    const int slabs = all.slabs.load(std::memory_order_acquire);
    for (int s = 0; s < slabs; ++s) {
        StreamRecord* slab = all.slab[static_cast<std::size_t>(s)].load(std::memory_order_acquire);
        for (int i = 0; i < slab_size; ++i)
            if (slab[i].id.load() != 0) function(slab[i]);
    }
}

EventState& take_event(Device device, EventOptions options, const SourceLocation& where) {
    EventPool& pool = pool_of(device, options);
    {
        const std::lock_guard lock(pool.lock);
        if (pool.free != nullptr) {
            EventState& event = *std::exchange(pool.free, pool.free->next_free);
            return event;
        }
    }
    auto event = std::make_unique<EventState>();
    event->backend = &backend_of(device.kind());
    event->device = device;
    event->options = options;
    event->backend->open_event(*event, where);
    return *event.release();
}

void give_event(EventState& event) noexcept {
    if (event.recording.load(std::memory_order_relaxed) != nullptr) forget_mark(event);
    if (!event.owns_native || event.handed_out || event.options.interprocess) {
        // Others may still use the native event, so no one else may have it.
        event.backend->close_event(event);
        delete &event;
        return;
    }
    event.backend->forget_record(event);
    event.recorded = false;
    event.stream = nullptr;
    event.capture_id = 0;
    EventPool& pool = pool_of(event.device, event.options);
    const std::lock_guard lock(pool.lock);
    event.next_free = std::exchange(pool.free, &event);
}

void check_may_wait(const char* call, const SourceLocation& where) {
    if (!thread_states.in_host_function) [[likely]]
        return;
    throw_error(
        {.code = ErrorCode::usage,
         .message = "a host function or CPU kernel may not wait for anything: enqueue what comes after it on "
                    "its stream, or wait_stream() there",
         .call = call,
         .where = where});
}

InHostFunction::InHostFunction() noexcept : before_(std::exchange(thread_states.in_host_function, true)) {}
InHostFunction::~InHostFunction() {
    // What a host function sets is for itself, not for the next one on this thread.
    if (!before_ && thread_states.of[1].touched) thread_states.of[1] = ThreadState{};
    thread_states.in_host_function = before_;
}

}  // namespace heddle::detail
