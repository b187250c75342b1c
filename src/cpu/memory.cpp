// Memory on the CPU: allocation, frees in stream order, copies and fills.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/registry.hpp"
#include "cpu/backend.hpp"
#include "cpu/graph.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail::cpu {

namespace {

/// The alignment of CUDA's memory, so that code which relies on it works here too. Costs 192 bytes
/// per array more than cache-line alignment.
constexpr std::size_t array_alignment = 256;

/// Frees the memory cached by streams of all CPU devices. Returns whether there was any.
bool give_all_memory_back() noexcept {
    bool was_any = false;
    for (int i = 0; i < cpu_backend().device_count(); ++i)
        was_any = give_memory_back(Access::device(DeviceKind::cpu, i)) || was_any;
    return was_any;
}

/// The header placed before an array's memory.
struct alignas(array_alignment) Header {
    Kept kept;
};

void* allocate_host(std::size_t bytes, const char* call, Device device, GiveBack give_back,
                    const SourceLocation& where) {
    // Blocks are not aligned to pages: glibc then returned the end of the heap to the system and
    // requested it again for every block (7 µs for 1 MB). std::aligned_alloc() is not used: it
    // would need a size that is a multiple of the alignment, and sanitizers would not see the
    // array's end.
    const auto try_allocate = [bytes]() -> void* {
        void* made = nullptr;
        if (bytes > SIZE_MAX - sizeof(Header) ||
            posix_memalign(&made, array_alignment, sizeof(Header) + bytes) != 0)
            return nullptr;
        return made;
    };
    void* base = try_allocate();
    if (base == nullptr && give_all_memory_back()) base = try_allocate();
    if (base == nullptr)
        coded_error(ErrorCode::out_of_memory, {call, where, device},
                    "could not allocate {} bytes of host memory (available: {})", bytes,
                    cpu_backend().free_memory(0));
    auto* const header = ::new (base) Header{{base, bytes, device.index(), give_back}};
    return header + 1;
}
Kept& kept_of(void* data) noexcept { return (static_cast<Header*>(data) - 1)->kept; }

/// Bytes in use by the arrays of a CPU device.
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

/// Frees memory once its last user is done. Deletes itself.
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

/// Copies a piece in parts of `part` bytes, or row by row: index i copies the i-th part.
struct CopyOp {
    static constexpr std::size_t part = 256 << 10;
    Piece to;
    Piece from;

    static std::size_t parts(const Piece& piece) {
        return piece.rows > 1 ? piece.rows : (piece.bytes + part - 1) / part;
    }
    static const char* pretty() noexcept { return "copy"; }
    static void run(void* self, std::size_t begin, std::size_t end) {
        const auto& op = *static_cast<const CopyOp*>(self);
        auto* const to = writable(op.to);
        const auto* const from = static_cast<const std::byte*>(op.from.data);
        if (op.to.rows > 1) {
            for (std::size_t row = begin; row < end; ++row)
                std::memcpy(to + row * op.to.pitch, from + row * op.from.pitch, op.to.bytes);
        } else {
            const std::size_t first = begin * part;
            std::memcpy(to + first, from + first, std::min(end * part, op.to.bytes) - first);
        }
    }
    static const OpType type;
};
const OpType CopyOp::type = op_type<CopyOp>(&CopyOp::run, true, "copy", "copy");

/// Copies from a snapshot of pageable memory.
struct SnapshotOp {
    CopyOp copy;
    std::unique_ptr<std::byte[]> snapshot;
    static void run(void* self, std::size_t begin, std::size_t end) {
        CopyOp::run(&static_cast<SnapshotOp*>(self)->copy, begin, end);
    }
    static const OpType type;
};
const OpType SnapshotOp::type = op_type<SnapshotOp>(&SnapshotOp::run, false, "copy", "copy");

/// Fills a piece with copies of a value. Values of up to 64 bytes are stored inline, larger ones in
/// a buffer.
struct FillOp {
    static constexpr std::size_t part = 256 << 10;
    static constexpr std::size_t inline_size = 64;
    Piece to;
    std::size_t size;
    std::byte value[inline_size];
    std::unique_ptr<std::byte[]> large;

    FillOp(const Piece& piece, const void* pattern, std::size_t bytes_of_pattern)
        : to(piece), size(bytes_of_pattern) {
        if (size > inline_size) large = std::make_unique_for_overwrite<std::byte[]>(size);
        std::memcpy(large != nullptr ? large.get() : value, pattern, size);
    }

    const std::byte* bytes() const noexcept { return large != nullptr ? large.get() : value; }
    std::size_t per_part() const noexcept { return std::max<std::size_t>(1, part / size) * size; }
    std::size_t parts() const noexcept {
        return to.rows > 1 ? to.rows : (to.bytes + per_part() - 1) / per_part();
    }

    static void repeat(std::byte* to, std::size_t count, const std::byte* value, std::size_t size) {
        bool same = true;
        for (std::size_t i = 1; i < size; ++i) same &= value[i] == value[0];
        if (same) {
            std::memset(to, std::to_integer<int>(value[0]), count);
            return;
        }
        // Doubles the filled part up to 16 KiB, which stays in the L1 cache, then copies that
        // block.
        std::size_t done = std::min(size, count);
        std::memcpy(to, value, done);
        const std::size_t block = std::max<std::size_t>(1, 16384 / size) * size;
        while (done < count) {
            const std::size_t more = std::min({count - done, done, block});
            std::memcpy(to + done, to, more);
            done += more;
        }
    }
    static void run(void* self, std::size_t begin, std::size_t end) {
        const auto& op = *static_cast<const FillOp*>(self);
        auto* const to = writable(op.to);
        if (op.to.rows > 1) {
            for (std::size_t row = begin; row < end; ++row)
                repeat(to + row * op.to.pitch, op.to.bytes, op.bytes(), op.size);
        } else {
            const std::size_t first = begin * op.per_part();
            repeat(to + first, std::min(end * op.per_part(), op.to.bytes) - first, op.bytes(),
                   op.size);
        }
    }
    static const OpType type;
};
const OpType FillOp::type = op_type<FillOp>(&FillOp::run, false, "fill", "fill");

}  // namespace

SharedClosure copy_closure(const Piece& to, const Piece& from, const OpType*& type,
                           std::size_t& count) {
    type = &CopyOp::type;
    count = CopyOp::parts(to);
    return std::make_shared<CopyOp>(CopyOp{to, from});
}

namespace {

/// Enqueues a copy from a snapshot of the source, taken now.
void copy_snapshot(StreamRecord& stream, const Piece& to, const Piece& from,
                   const SourceLocation& where) {
    const std::size_t parts = CopyOp::parts(to);
    SnapshotOp later{{to, from}, std::make_unique_for_overwrite<std::byte[]>(from.total())};
    const Piece compact{{later.snapshot.get(), from.bytes, from.rows, from.bytes}, from.place};
    CopyOp now{compact, from};
    CopyOp::run(&now, 0, parts);
    later.copy.from = compact;
    push_work(stream, SnapshotOp::type, &later, parts, where);
}

/// The most snapshot bytes that one copy has in flight, if it may wait and no row is longer.
constexpr std::size_t snapshot_bytes = 64 << 20;

/// Like copy_snapshot(), but in parts. At most two are in flight: it waits for a part before it
/// reads the part after the next.
void copy_snapshots(StreamRecord& stream, const Piece& to, const Piece& from,
                    const SourceLocation& where) {
    const std::size_t all = to.rows == 1 ? to.bytes : to.rows;
    const std::size_t unit = to.rows == 1 ? 1 : to.bytes;
    const std::size_t step = std::max<std::size_t>(1, snapshot_bytes / 2 / unit);
    const StreamUse use{&stream, stream.id.load(std::memory_order_relaxed)};
    CompletionRef older, newer;
    for (std::size_t first = 0; first < all; first += step) {
        if (older) {
            const BlockedSpan blocked("copy", stream, BlockedSpan::For::earlier, WaitReason::copy,
                                      where);
            wait_for(*older);
        }
        const std::size_t count = std::min(step, all - first);
        copy_snapshot(stream, {to.part(first, count), to.place},
                      {from.part(first, count), from.place}, where);
        older = std::exchange(newer, pending_work(use));
    }
}

}  // namespace

void CpuBackend::copy(StreamRecord& stream, const Piece& to, const Piece& from,
                      const SourceLocation& where) {
    const bool fills_now = to.place.kind == MemoryKind::pageable;
    const bool reads_now = from.place.kind == MemoryKind::pageable;
    // Checked before the copy is enqueued, because the copy could write to the destination later.
    if (fills_now) check_may_wait("copy (to pageable memory)", where);
    const bool may_wait = !thread_states.in_host_function;
    // A pageable source is read now, even if work is pending on the stream, because the caller may
    // change it after the return. An idle stream runs the copy at once, without a snapshot.
    if (reads_now && !(may_wait && queue_of(stream).is_idle())) {
        const bool in_parts = may_wait && from.total() > snapshot_bytes;
        (in_parts ? copy_snapshots : copy_snapshot)(stream, to, from, where);
        if (!fills_now) return;
    } else {
        CopyOp op{to, from};
        push_work(stream, CopyOp::type, &op, CopyOp::parts(to), where);
    }
    if (fills_now || reads_now) synchronize(stream, where);
}

SharedClosure fill_closure(const Piece& to, const void* value, std::size_t size,
                           const OpType*& type, std::size_t& count) {
    auto op = std::make_shared<FillOp>(to, value, size);
    type = &FillOp::type;
    count = op->parts();
    return op;
}

void CpuBackend::fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size,
                      const SourceLocation& where) {
    FillOp op(to, value, size);
    const std::size_t parts = op.parts();
    push_work(stream, FillOp::type, &op, parts, where);
}

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
        "CPU devices have no pool: their memory goes back to the machine as it is freed");
}
void CpuBackend::trim_pool(int, std::size_t, const SourceLocation&) { chunks().give_back(); }

Allocated CpuBackend::allocate_pinned(std::size_t bytes, const SourceLocation& where) {
    return {allocate_host(
        bytes, "pinned or pageable", Access::device(DeviceKind::cpu, 0),
        [](Kept& memory) noexcept { free_block(memory.base); }, where)};
}

namespace {

/// Frees the memory after these completions. If it throws, it has no effect.
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
