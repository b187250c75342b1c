// Memory on the CPU: allocation, and frees in stream order.
#include <cstdlib>
#include <vector>

#include "core/base/address_sanitizer.hpp"
#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/registry.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/memory/memory.hpp"
#include "cpu/queue/queue.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail::cpu {

namespace {

/// The alignment of CUDA's memory: code that relies on it also works on CPU devices. It costs 192
/// bytes per array more than cache-line alignment.
constexpr std::size_t array_alignment = 256;

/// Frees the memory cached by streams of all CPU devices. Returns whether there was any.
bool give_all_memory_back() noexcept {
    bool was_any = false;
    for (int i = 0; i < cpu_backend().device_count(); ++i)
        was_any = trim_kept_memory(Access::device(DeviceKind::cpu, i)) || was_any;
    return was_any;
}

/// Returns the size of the red zone behind an array, in bytes: AddressSanitizer reports accesses to
/// it. AddressSanitizer's own red zone behind a small array has only 16 bytes.
std::size_t red_zone() noexcept { return asan::is_here() ? array_alignment : 0; }

/// The header placed before an array's memory.
struct alignas(array_alignment) Header {
    Kept kept;
};

void* allocate_host(std::size_t bytes, const char* call, Device device, GiveBack give_back,
                    const SourceLocation& where) {
    // Blocks are not aligned to pages: for every page-aligned block, glibc returned the end of the
    // heap to the system and requested it again (7 µs for 1 MB). std::aligned_alloc() would need a
    // multiple of the alignment as the size, and sanitizers would not see the array's end.
    const std::size_t around = sizeof(Header) + red_zone();
    const auto try_allocate = [bytes, around]() -> void* {
        void* made = nullptr;
        if (bytes > SIZE_MAX - around ||
            posix_memalign(&made, array_alignment, around + bytes) != 0)
            return nullptr;
        return made;
    };
    void* base = try_allocate();
    if (base == nullptr && give_all_memory_back()) base = try_allocate();
    if (base == nullptr)
        coded_error(ErrorCode::out_of_memory, {call, where, device},
                    "{} bytes of host memory cannot be allocated ({} are available): free memory, "
                    "then retry",
                    bytes, cpu_backend().free_memory(0));
    auto* const header = ::new (base) Header{{base, bytes, device.index(), give_back}};
    asan::poison(reinterpret_cast<std::byte*>(header + 1) + bytes, red_zone());
    return header + 1;
}
Kept& kept_of(void* data) noexcept { return (static_cast<Header*>(data) - 1)->kept; }

/// The bytes that the arrays of a CPU device use.
struct Usage {
    std::atomic<std::size_t> used{0};
    std::atomic<std::size_t> high{0};

    void add(std::size_t bytes) noexcept {
        const std::size_t now = used.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        std::size_t seen = high.load(std::memory_order_relaxed);
        while (seen < now && !high.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
    }
};
Usage usages[max_devices];

/// Frees memory once its last user is done, then deletes itself.
class LaterFree {
public:
    LaterFree(Kept& memory, std::size_t users)
        : left_(users + 1), memory_(memory), waiters_(users) {}

    void after(std::size_t index, const CompletionRef& done) noexcept {
        waiters_[index].owner = this;
        waiters_[index].wake = [](Waiter& self, const Completion& reached) noexcept {
            acquire_for_frees(reached.order());
            static_cast<Node&>(self).owner->one_less();
        };
        if (!done->add(waiters_[index])) waiters_[index].wake(waiters_[index], *done);
    }
    void one_less() noexcept {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        memory_.give_back(memory_);
        delete this;
    }

private:
    struct Node : Waiter {
        LaterFree* owner = nullptr;
    };
    std::atomic<std::size_t> left_;
    Kept& memory_;
    std::vector<Node> waiters_;
};

CompletionRef pending_anywhere(const StreamUse& use) {
    if (use.stream->device.is_cpu()) return pending_work(use);
    CompletionRef done = make_completion();
    use.stream->backend->signal_use(use, done);
    return done->is_done() ? CompletionRef() : done;
}

}  // namespace

void* CpuBackend::allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) {
    void* const data = allocate_host(
        bytes, allocating_call, stream.device,
        [](Kept& memory) noexcept {
            usages[memory.device].used.fetch_sub(memory.bytes, std::memory_order_relaxed);
            free_block(memory.base);
        },
        where);
    usages[stream.device.index()].add(bytes);
    return data;
}

PoolUsage CpuBackend::pool_usage(int device, const SourceLocation&) {
    const std::size_t used = usages[device].used.load(std::memory_order_relaxed);
    const std::size_t high = usages[device].high.load(std::memory_order_relaxed);
    return {used, high, used, high};
}
void CpuBackend::reset_pool_high_water(int device, const SourceLocation&) {
    usages[device].high.store(usages[device].used.load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
}
std::size_t CpuBackend::pool_release_threshold(int, const SourceLocation&) { return 0; }
void CpuBackend::set_pool_release_threshold(int device, std::size_t, const SourceLocation& where) {
    unsupported_error(
        {"set_pool_release_threshold", where, Access::device(DeviceKind::cpu, device)},
        "CPU devices have no pool, and return freed memory to the system: call this function for "
        "CUDA devices only");
}
void CpuBackend::trim_pool(int, std::size_t, const SourceLocation&) { chunks().give_back(); }

Allocated CpuBackend::allocate_pinned(std::size_t bytes, const SourceLocation& where) {
    return {allocate_host(
        bytes, "pinned or pageable", Access::device(DeviceKind::cpu, 0),
        [](Kept& memory) noexcept { free_block(memory.base); }, where)};
}

namespace {

/// Frees the memory after these completions. Has no effect if it throws.
void give_back_after(Kept& memory, const std::vector<CompletionRef>& pending) {
    if (pending.empty()) return memory.give_back(memory);
    auto* later = new LaterFree(memory, pending.size());
    for (std::size_t i = 0; i < pending.size(); ++i) later->after(i, pending[i]);
    later->one_less();
}

}  // namespace

bool give_back_after(Kept& memory, const StreamUse* users, std::size_t user_count) noexcept try {
    std::vector<CompletionRef> pending;
    for (std::size_t i = 0; i < user_count; ++i)
        if (CompletionRef done = pending_anywhere(users[i])) pending.push_back(std::move(done));
    give_back_after(memory, pending);
    return true;
} catch (...) {
    return false;
}

bool CpuBackend::free(void* data, std::size_t, int, const StreamUse* users,
                      std::size_t user_count) noexcept {
    return give_back_after(kept_of(data), users, user_count);
}

bool CpuBackend::free_pinned(void* data, std::size_t, const StreamUse* users,
                             std::size_t user_count) noexcept {
    return give_back_after(kept_of(data), users, user_count);
}

}  // namespace heddle::detail::cpu
