#include "core/stream/registry.hpp"
#include "core/base/errors.hpp"

#include <array>

#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/operation/start.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/made_at.hpp"
#include "core/stream/recorded_calls.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

constexpr int slab_size = 128;
// The number of a device's closed records that are kept before the oldest is reused.
constexpr int least_closed = 1024;
constexpr int max_slabs = 1 << 16;
constexpr int slot_bits = 23;  // low bits of a key; the other bits are the id
static_assert(slab_size * max_slabs <= 1 << slot_bits);

struct Registry {
    std::mutex mutex;  ///< guards the lists and growth
    /// A record never changes its device. Thread-safe to read.
    struct Records {
        StreamRecord* fresh = nullptr;
        /// Closed records, oldest first. Reuse is delayed, so that a StreamRef that outlives its
        /// stream finds it dead for a long time.
        StreamRecord* first = nullptr;
        StreamRecord* last = nullptr;
        int closed = 0;
    } records[2][max_devices];
    std::atomic<int> slabs{0};
    std::array<std::atomic<StreamRecord*>, max_slabs> slab{};
    std::atomic<std::uint64_t> next_id{1};
};

// Never destroyed: streams may outlive static destruction.
static_assert(std::is_trivially_destructible_v<Registry>);
constinit Registry registry;
const ForkRegistration registry_registered{ForkOrder::registry, registry.mutex};
Registry::Records& records_of(Device device) noexcept {
    return registry.records[static_cast<int>(device.kind())][device.index()];
}

/// Adds a slab of records. Call with the mutex held. Throws OutOfMemory.
void add_slab(Registry::Records& records, Device device) {
    const int index = registry.slabs.load();
    if (index == max_slabs)
        coded_error(ErrorCode::out_of_memory, {"Stream", {}, device},
                    "the maximum number of streams is reached: destroy streams, or share streams "
                    "with a StreamPool");
    auto* const slab = new StreamRecord[slab_size];
    for (int i = slab_size - 1; i >= 0; --i) {
        slab[i].slot = static_cast<std::uint32_t>(index * slab_size + i);
        slab[i].device = device;
        slab[i].backend = &backend_of(device.kind());
        slab[i].next_free = std::exchange(records.fresh, &slab[i]);
    }
    registry.slab[static_cast<std::size_t>(index)].store(slab, std::memory_order_release);
    registry.slabs.store(index + 1, std::memory_order_release);
}

StreamRecord& take_record(Device device) {
    const std::lock_guard lock(registry.mutex);
    Registry::Records& records = records_of(device);
    if (records.closed > least_closed) {
        --records.closed;
        // Never the last record in the list.
        return *std::exchange(records.first, records.first->next_free);
    }
    if (records.fresh == nullptr) add_slab(records, device);
    return *std::exchange(records.fresh, records.fresh->next_free);
}

void give_record(StreamRecord& record) noexcept {
    const std::lock_guard lock(registry.mutex);
    Registry::Records& records = records_of(record.device);
    record.next_free = nullptr;
    (records.closed != 0 ? records.last->next_free : records.first) = &record;
    records.last = &record;
    ++records.closed;
}

}  // namespace

namespace {
constinit MadeOnce<StreamRecord> null_record;  // dead, as every new record is
[[maybe_unused]] const StreamRecord& made_at_load = null_record.get();
}  // namespace
StreamState& null_stream() noexcept { return null_record.get(); }

StreamRecord& new_stream_record(Device device) {
    StreamRecord& record = take_record(device);
    try {
        record.prepare_outcome();
    } catch (...) {
        give_record(record);
        throw;
    }
    record.submissions.store(0);
    record.announced.store(0);
    record.noted_before.store(record.noted.load());
    record.waited.forget();
    {
        // Under this lock, threads that still refer to the old stream see that the id has changed.
        const std::lock_guard life(record.life);
        record.ordered_before = 0;
        record.owns_native = true;
        record.owners.store(1);
        const std::uint64_t id = registry.next_id.fetch_add(1);
        record.id.store(id);
        record.key.store(id << slot_bits | record.slot, std::memory_order_relaxed);
    }
    record.flags.store(stream_flag::dead);  // clears `ended`, after the id has changed
    return record;
}

void name_stream(StreamRecord& stream, std::string name) noexcept {
    // Other threads read the name under either lock: failures.cpp under the first, backends under
    // the second.
    const std::lock_guard lock(stream.failure_mutex);
    const std::lock_guard life(stream.life);
    stream.name = std::move(name);  // a short name reuses the memory of the previous one
}

StreamRecord& open_stream(Device device, int priority, std::string name,
                          const SourceLocation& where, Naming naming) {
    start_observers();
    resume_watch();
    const int processors = device.info().processors;  // may throw, so it runs first
    StreamRecord& record = new_stream_record(device);
    record.priority.store(priority);
    try {
        if (naming == Naming::with_id) name += " " + std::to_string(record.id.load());
        name_stream(record, std::move(name));
        record.backend->open_stream(record, where);
    } catch (...) {
        recycle_stream(record);
        throw;
    }
    record.processors = static_cast<unsigned>(std::max(1, processors));
    record.note_back();
    record.clear(stream_flag::dead);
    note_made(record.id.load(), where);
    return record;
}

void close_stream(StreamRecord& stream) noexcept {
    if (stream.has(stream_flag::dead)) return;
    if (stream.owners.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;  // its handle was wrapped: other Stream objects own it too
    leave_recording(stream);
    stream.note_gone();
    stream.set(stream_flag::dead);
    if (stream.has(stream_flag::forked)) return;
    trim_kept_memory(stream);
    stream.backend->close_stream(stream);
}

void recycle_stream(StreamRecord& stream) noexcept {
    stream.set(stream_flag::ended);
    CompletionRef ordered_end;  // may hold a failure, which must be destroyed without the lock
    {
        const std::lock_guard lock(stream.life);
        ordered_end = std::move(stream.ordered_end);
    }
    // Holders of the old outcome keep it. If there is no memory for a new outcome, the record is
    // not reused.
    if (stream.renew_outcome()) give_record(stream);
}

StreamUse use_of(std::uint64_t key) noexcept {
    const auto slot = static_cast<std::size_t>(key & ((std::uint64_t{1} << slot_bits) - 1));
    StreamRecord* const slab = registry.slab[slot / slab_size].load(std::memory_order_acquire);
    return {&slab[slot % slab_size], key >> slot_bits};
}

bool has_ended(std::uint64_t key) noexcept {
    const StreamUse use = use_of(key);
    const bool ended =
        use.stream->has(stream_flag::ended) ||
        // Checked in this order, because the flag is cleared after the id has changed.
        !use.is_same();
    if (ended) tsan::acquire(use.stream->end_of_work());
    return ended;
}

void for_each_stream(const std::function<void(StreamRecord&)>& function) {
    const int slabs = registry.slabs.load(std::memory_order_acquire);
    for (int s = 0; s < slabs; ++s) {
        StreamRecord* slab =
            registry.slab[static_cast<std::size_t>(s)].load(std::memory_order_acquire);
        for (int i = 0; i < slab_size; ++i)
            if (slab[i].id.load() != 0) function(slab[i]);
    }
}

namespace {
/// Runs in the child of a fork: marks the parent's streams `forked`. No worker or GPU will run
/// their work here.
void forget_streams() noexcept {
    for_each_stream([](StreamRecord& stream) {
        stream.set(stream_flag::forked);
        // The parent's threads may have held the recorder's lock.
        stream.clear(stream_flag::recording | stream_flag::captured | stream_flag::joined);
        stream.recorder.store(nullptr, std::memory_order_relaxed);
        stream.outermost.store(nullptr, std::memory_order_relaxed);
    });
    for (auto& kind : registry.records)
        for (Registry::Records& records : kind) records = {};
}
const ForkStepRegistration streams_in_children{ForkStep::streams, &forget_streams};
}  // namespace

}  // namespace heddle::detail
