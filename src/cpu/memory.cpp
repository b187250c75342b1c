#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/registry.hpp"
#include "cpu/backend.hpp"
#include "cpu/graph.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail::cpu {

namespace {

constexpr std::size_t cache_line = 64;

void* allocate_host(std::size_t bytes, const char* call, Device device, const SourceLocation& where) {
    // More than a cache line, a page say, would have glibc give the heap's end back and take it anew with every block: 7 µs for 1 MB.
    const std::size_t alignment = cache_line;
    void* data = bytes > SIZE_MAX - alignment
                     ? nullptr
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (data == nullptr)
        throw_error({.code = ErrorCode::out_of_memory,
                     .message = "could not allocate " + std::to_string(bytes) +
                                " bytes of host memory (available: " +
                                std::to_string(cpu_backend().free_memory(0)) + ")",
                     .call = call,
                     .device = device,
                     .where = where});
    return data;
}

/// What arrays of a CPU device hold.
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

/// Memory that goes when the last of its users is done.
class LaterFree {
public:
    LaterFree(void* data, std::size_t bytes, int device, GiveBack give_back, std::size_t users)
        : left_(users + 1), data_(data), bytes_(bytes), device_(device), give_back_(give_back),
          waiters_(users) {}

    void after(std::size_t index, const CompletionRef& done) noexcept {
        waiters_[index].owner = this;
        waiters_[index].wake = [](Waiter& self, const Completion&) noexcept {
            static_cast<Node&>(self).owner->one_less();
        };
        if (!done->add(waiters_[index])) one_less();
    }
    void one_less() noexcept {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        give_back_(data_, bytes_, device_);
        delete this;
    }

private:
    struct Node : Waiter {
        LaterFree* owner = nullptr;
    };
    std::atomic<std::size_t> left_;
    void* data_;
    std::size_t bytes_;
    int device_;
    GiveBack give_back_;
    std::vector<Node> waiters_;
};

CompletionRef pending_anywhere(const StreamUse& use) {
    if (use.stream->device.is_cpu()) return pending_work(use);
    CompletionRef done = make_completion();
    use.stream->backend->fence(use, done);
    return done->is_done() ? CompletionRef() : done;
}

/// Copies a piece in parts of `part` bytes (or whole rows): index i is the i-th part.
struct CopyOp {
    static constexpr std::size_t part = 256 * 1024;
    Piece to;
    Piece from;

    static std::size_t parts(const Piece& piece) {
        return piece.rows > 1 ? piece.rows : (piece.bytes + part - 1) / part;
    }
    static const char* pretty() noexcept { return "copy"; }
    static void run(void* self, std::size_t begin, std::size_t end) {
        const auto& op = *static_cast<const CopyOp*>(self);
        auto* const to = static_cast<std::byte*>(op.to.data);
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

/// Copies out of a snapshot that was taken of pageable memory.
struct SnapshotOp {
    CopyOp copy;
    std::unique_ptr<std::byte[]> snapshot;
    static void run(void* self, std::size_t begin, std::size_t end) {
        CopyOp::run(&static_cast<SnapshotOp*>(self)->copy, begin, end);
    }
    static const OpType type;
};
const OpType SnapshotOp::type = op_type<SnapshotOp>(&SnapshotOp::run, false, "copy", "copy");

/// Fills a piece with copies of a value of up to 64 bytes; larger values stand in a buffer.
struct FillOp {
    static constexpr std::size_t part = 256 * 1024;
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
        // Doubling what is there, up to what the first-level cache holds, then copying that.
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
        auto* const to = static_cast<std::byte*>(op.to.data);
        if (op.to.rows > 1) {
            for (std::size_t row = begin; row < end; ++row)
                repeat(to + row * op.to.pitch, op.to.bytes, op.bytes(), op.size);
        } else {
            const std::size_t first = begin * op.per_part();
            repeat(to + first, std::min(end * op.per_part(), op.to.bytes) - first, op.bytes(), op.size);
        }
    }
    static const OpType type;
};
const OpType FillOp::type = op_type<FillOp>(&FillOp::run, false, "fill", "fill");

}  // namespace

SharedClosure copy_closure(const Piece& to, const Piece& from, const OpType*& type, std::size_t& count) {
    type = &CopyOp::type;
    count = CopyOp::parts(to);
    return std::make_shared<CopyOp>(CopyOp{to, from});
}

void CpuBackend::copy(StreamRecord& stream, const Piece& to, const Piece& from, const SourceLocation& where) {
    CopyOp op{to, from};
    const std::size_t parts = CopyOp::parts(to);
    if (from.place.kind == MemoryKind::pageable && to.place.kind != MemoryKind::pageable) {
        // The source may change when we return. When the stream has nothing to do, or the copy is large, it is simply waited for;
        // else the bytes are taken now, so that the caller need not wait for the work before.
        constexpr std::size_t large = 64 << 20;
        if (!thread_states.in_host_function &&
            (queue_of(stream).is_idle() || from.bytes * from.rows > large)) {
            enqueue(stream, CopyOp::type, &op, parts, where);
            synchronize(stream, where);
            return;
        }
        SnapshotOp later{op, std::make_unique_for_overwrite<std::byte[]>(from.bytes * from.rows)};
        const Piece compact{later.snapshot.get(), from.bytes, from.rows, from.bytes, from.place};
        CopyOp now{compact, from};
        CopyOp::run(&now, 0, parts);
        later.copy.from = compact;
        enqueue(stream, SnapshotOp::type, &later, parts, where);
        return;
    }
    const bool waits = to.place.kind == MemoryKind::pageable;
    if (waits) check_may_wait("copy (to pageable memory)", where);  // before anything could write there later
    enqueue(stream, CopyOp::type, &op, parts, where);
    if (waits) synchronize(stream, where);
}

SharedClosure fill_closure(const Piece& to, const void* value, std::size_t size, const OpType*& type,
                           std::size_t& count) {
    auto op = std::make_shared<FillOp>(to, value, size);
    type = &FillOp::type;
    count = op->parts();
    return op;
}

void CpuBackend::fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size,
                      const SourceLocation& where) {
    FillOp op(to, value, size);
    const std::size_t parts = op.parts();
    enqueue(stream, FillOp::type, &op, parts, where);
}

void* CpuBackend::allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) {
    void* const data = allocate_host(bytes, "empty", stream.device, where);
    usages[stream.device.index()].add(bytes);
    return data;
}

PoolUsage CpuBackend::pool_usage(int device, const SourceLocation&) {
    const std::size_t used = usages[device].used.load(std::memory_order_relaxed);
    const std::size_t high = usages[device].high.load(std::memory_order_relaxed);
    return {used, high, used, high};
}
void CpuBackend::reset_pool_high_water(int device, const SourceLocation&) {
    usages[device].high.store(usages[device].used.load(std::memory_order_relaxed), std::memory_order_relaxed);
}
std::size_t CpuBackend::pool_release_threshold(int, const SourceLocation&) { return 0; }
void CpuBackend::set_pool_release_threshold(int device, std::size_t, const SourceLocation& where) {
    throw_error({.code = ErrorCode::unsupported,
                 .message = "CPU devices have no pool: their memory goes back to the machine as it is freed",
                 .call = "set_pool_release_threshold",
                 .device = Device::unchecked(DeviceKind::cpu, device),
                 .where = where});
}
void CpuBackend::trim_pool(int, std::size_t, const SourceLocation&) {}

void* CpuBackend::allocate_pinned(std::size_t bytes, const SourceLocation& where) {
    return allocate_host(bytes, "pinned or pageable", Device::unchecked(DeviceKind::cpu, 0), where);
}

void give_back_after(void* data, std::size_t bytes, int device, GiveBack give_back,
                     const StreamUse* users, std::size_t user_count) noexcept {
    try {
        std::vector<CompletionRef> pending;
        for (std::size_t i = 0; i < user_count; ++i)
            if (CompletionRef done = pending_anywhere(users[i])) pending.push_back(std::move(done));
        if (pending.empty()) return give_back(data, bytes, device);
        auto* later = new LaterFree(data, bytes, device, give_back, pending.size());
        for (std::size_t i = 0; i < pending.size(); ++i) later->after(i, pending[i]);
        later->one_less();
    } catch (...) {
        report(std::current_exception());  // and the memory is kept: nobody knows who still uses it
    }
}

void CpuBackend::free(void* data, std::size_t bytes, int device, const StreamUse* users,
                      std::size_t user_count) noexcept {
    give_back_after(
        data, bytes, device,
        [](void* memory, std::size_t size, int of) noexcept {
            std::free(memory);
            usages[of].used.fetch_sub(size, std::memory_order_relaxed);
        },
        users, user_count);
}

void CpuBackend::free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                             std::size_t user_count) noexcept {
    give_back_after(
        data, bytes, 0, [](void* memory, std::size_t, int) noexcept { std::free(memory); }, users,
        user_count);
}

}  // namespace heddle::detail::cpu
