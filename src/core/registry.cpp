#include "core/registry.hpp"

#include <array>

#include "core/fork.hpp"
#include "core/made_once.hpp"
#include "core/recorder.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

constexpr int slab_size = 128;
constexpr int least_closed = 1024;  // streams of a device, before a record of it is used again
constexpr int max_slabs = 1 << 16;
constexpr int slot_bits = 23;  // of a key; the rest is the id
static_assert(slab_size * max_slabs <= 1 << slot_bits);

/// Where event states wait for their next use: one list for each device and each set of options.
struct EventPool {
    SpinLock lock;
    EventState* free = nullptr;
};

struct Registry {
    std::mutex mutex;  ///< guards the lists and growth
    /// A record belongs to one device for ever, so that others may look at whose it is at any time.
    struct Records {
        StreamRecord* fresh = nullptr;
        /// Closed ones wait their turn here, oldest first: a StreamRef that outlives its stream finds it dead for a good while.
        StreamRecord* first = nullptr;
        StreamRecord* last = nullptr;
        int closed = 0;
    } records[2][max_devices];
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

// Never destroyed: streams may outlive static destruction.
static_assert(std::is_trivially_destructible_v<Registry>);
constinit Registry all;
const ForkRegistration registered{ForkOrder::registry, all.mutex};
const ForkRegistration registered_events{ForkOrder::events,
                                         {&all, [](void* pools) { for_each_pool(pools, &SpinLock::lock); },
                                          [](void* pools) { for_each_pool(pools, &SpinLock::unlock); }}};

Registry::Records& records_of(Device device) noexcept {
    return all.records[static_cast<int>(device.kind())][device.index()];
}

/// Under the mutex. Throws OutOfMemory.
void add_slab(Registry::Records& records, Device device) {
    const int index = all.slabs.load();
    if (index == max_slabs)
        throw_error({.code = ErrorCode::out_of_memory,
                     .message = "too many streams",
                     .call = "Stream",
                     .device = device});
    auto* const slab = new StreamRecord[slab_size];
    for (int i = slab_size - 1; i >= 0; --i) {
        slab[i].slot = static_cast<std::uint32_t>(index * slab_size + i);
        slab[i].device = device;
        slab[i].backend = &backend_of(device.kind());
        slab[i].next_free = std::exchange(records.fresh, &slab[i]);
    }
    all.slab[static_cast<std::size_t>(index)].store(slab, std::memory_order_release);
    all.slabs.store(index + 1, std::memory_order_release);
}

StreamRecord& take_record(Device device) {
    const std::lock_guard lock(all.mutex);
    Registry::Records& records = records_of(device);
    if (records.closed > least_closed) {
        --records.closed;
        return *std::exchange(records.first, records.first->next_free);  // not the last one
    }
    if (records.fresh == nullptr) add_slab(records, device);
    return *std::exchange(records.fresh, records.fresh->next_free);
}

EventPool& pool_of(Device device, EventOptions options) {
    const int set = (options.timing ? 1 : 0) | (options.blocking ? 2 : 0) | (options.interprocess ? 4 : 0);
    return all.events[static_cast<int>(device.kind())][device.index()][set];
}

}  // namespace

namespace {
constinit MadeOnce<StreamRecord> null_record;  // dead, as made
}
StreamState& null_stream() noexcept { return null_record.get(); }

StreamRecord& new_stream_record(Device device) {
    StreamRecord& record = take_record(device);
    record.submissions.store(0);
    record.waited.forget();
    {
        const std::lock_guard life(record.life);  // who looks at the stream that it was finds another id
        record.settled_by = 0;
        record.owns_native = true;
        record.owners.store(1);
        const std::uint64_t id = all.next_id.fetch_add(1);
        record.id.store(id);
        record.key.store(id << slot_bits | record.slot, std::memory_order_relaxed);
    }
    record.flags.store(stream_flag::dead);  // not `ended`, from the moment when the id is another
    return record;
}

StreamRecord& open_stream(Device device, int priority, std::string name, const SourceLocation& where) {
    const int processors = device.info().processors;  // may fail: asked for before there is something to undo
    StreamRecord& record = new_stream_record(device);
    record.priority = priority;
    {
        // Read under the one by failures.cpp, under the other by backends, for streams that others close and open.
        const std::lock_guard lock(record.failure_mutex);
        const std::lock_guard life(record.life);
        record.name = std::move(name);
    }
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
    leave_recording(stream);
    stream.set(stream_flag::dead);
    if (!stream.has(stream_flag::forked)) stream.backend->close_stream(stream);
}

void recycle_stream(StreamRecord& stream) noexcept {
    stream.set(stream_flag::ended);
    // Who may still have to ask it why has its fate. Without memory for another one the record is not used again.
    if (!stream.renew_fate()) return;
    const std::lock_guard lock(all.mutex);
    Registry::Records& records = records_of(stream.device);
    stream.next_free = nullptr;
    (records.closed != 0 ? records.last->next_free : records.first) = &stream;
    records.last = &stream;
    ++records.closed;
}

StreamUse use_of(std::uint64_t key) noexcept {
    const auto slot = static_cast<std::size_t>(key & ((std::uint64_t{1} << slot_bits) - 1));
    StreamRecord* const slab = all.slab[slot / slab_size].load(std::memory_order_acquire);
    return {&slab[slot % slab_size], key >> slot_bits};
}

bool has_ended(std::uint64_t key) noexcept {
    const StreamUse use = use_of(key);
    return use.stream->has(stream_flag::ended) ||
           !use.is_same();  // in this order: the flag goes when the id has changed
}

void forget_free_streams() noexcept {
    for (auto& kind : all.records)
        for (Registry::Records& records : kind) records = {};
}

void for_each_stream(const std::function<void(StreamRecord&)>& function) {
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
            event.owners.store(1, std::memory_order_relaxed);
            event.alive.store(true, std::memory_order_relaxed);
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
    if (event.recorder.load(std::memory_order_acquire) != nullptr) forget_mark(event);
    event.alive.store(false, std::memory_order_relaxed);
    release_event(event);
}

void release_event(EventState& event) noexcept {
    if (event.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!event.owns_native || event.handed_out || event.options.interprocess) {
        // Others may still use the native event, so no one else may have it.
        event.backend->close_event(event);
        delete &event;
        return;
    }
    event.backend->forget_record(event);
    event.recorded = false;
    event.in_graph = false;  // no node has it any more
    event.stream = nullptr;
    event.fate = nullptr;
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
