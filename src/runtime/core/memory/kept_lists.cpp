#include "core/memory/kept_lists.hpp"

#include <mutex>
#include <new>

#include "core/base/environment.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail {

namespace {

constinit DeviceMemory memories[2][max_devices];
constinit SpinLock lists_lock;
const ForkRegistration kept_lists_registered{ForkOrder::kept_memory, lists_lock};

/// In a forked child, forgets the parent's streams and their cached memory. Both are useless there,
/// and their locks may stay locked for ever.
void forget_kept_memory() noexcept {
    for (auto& kind : memories)
        for (DeviceMemory& memory : kind) {
            memory.first.store(nullptr, std::memory_order_relaxed);
            memory.reserved.store(0, std::memory_order_relaxed);
            memory.first_listed = memory.last_listed = memory.first_unused = nullptr;
        }
}
const ForkStepRegistration kept_memory_in_children{ForkStep::kept_memory, &forget_kept_memory};

constinit MadeOnce<EnvironmentNumber> percents[2];

/// Returns how much of the memory of all devices of a kind may be cached, in percent.
std::size_t kept_percent(DeviceKind kind) {
    const int otherwise = kind == DeviceKind::cuda ? 25 : 10;
    const auto make = [otherwise] {
        return new EnvironmentNumber(Variable::memory_kept, 0, 100, otherwise);
    };
    return static_cast<std::size_t>(percents[static_cast<int>(kind)].get(make).get());
}

void set_limits(DeviceMemory& memory, Device device) {
    if (memory.most_wasted.load(std::memory_order_relaxed) != 0) return;
    const std::size_t total = device.info().total_memory;
    const std::size_t share = total / 100 * kept_percent(device.kind());
    const int sharing = device.is_cpu() ? device_count(DeviceKind::cpu) : 1;
    memory.most_kept.store(share / static_cast<std::size_t>(sharing), std::memory_order_relaxed);
    memory.most_wasted.store(total / 32 + 1, std::memory_order_relaxed);
}

/// Returns a KeptMemory that no stream uses.
KeptMemory& unused_kept(DeviceMemory& memory, Device device) {
    {
        const std::lock_guard lock(lists_lock);
        if (KeptMemory* const unused = memory.first_unused) {
            memory.first_unused = unused->next_unused;
            return *unused;
        }
    }
    auto* const made = new KeptMemory(device);
    made->next = memory.first.load(std::memory_order_relaxed);
    while (!memory.first.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {}
    return *made;
}

void set_stream(KeptMemory& kept, const StreamRecord* stream) noexcept {
    const std::lock_guard lock(kept.lock);
    kept.stream = stream;
}

}  // namespace

DeviceMemory& memory_of(Device device) noexcept {
    return memories[static_cast<int>(device.kind())][device.index()];
}

SpinLock& kept_lists_lock() noexcept { return lists_lock; }

void DeviceMemory::list(KeptMemory& kept) noexcept {
    kept.next_listed = nullptr;
    (first_listed != nullptr ? last_listed->next_listed : first_listed) = &kept;
    last_listed = &kept;
    kept.is_listed.store(true, std::memory_order_relaxed);
}

KeptMemory* make_kept(StreamRecord& stream) noexcept try {
    DeviceMemory& memory = memory_of(stream.device);
    set_limits(memory, stream.device);
    if (memory.most_kept.load(std::memory_order_relaxed) == 0) return nullptr;
    KeptMemory& made = unused_kept(memory, stream.device);
    set_stream(made, &stream);
    KeptMemory* other = nullptr;
    if (stream.kept.compare_exchange_strong(other, &made)) return &made;
    set_stream(made, nullptr);
    give_kept(made);
    return other;
} catch (...) {
    return nullptr;
}

KeptMemory* leave_kept(StreamRecord& stream) noexcept {
    KeptMemory* const kept = stream.kept.exchange(nullptr);
    if (kept != nullptr) set_stream(*kept, nullptr);
    return kept;
}

void give_kept(KeptMemory& kept) noexcept {
    DeviceMemory& memory = memory_of(kept.device);
    const std::lock_guard lock(lists_lock);
    kept.next_unused = std::exchange(memory.first_unused, &kept);
}

}  // namespace heddle::detail
